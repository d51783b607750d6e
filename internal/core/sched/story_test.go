package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/story"
)

func TestStories(t *testing.T) {
	story.Run(t, func(t *testing.T) story.Do {
		s := &script{t: t, sim: newSim(t, Options{}), rs: map[string]*Resource{}, bulks: map[string]*job{}}
		return s.do
	})
}

type script struct {
	t     *testing.T
	sim   *sim
	rs    map[string]*Resource
	bulks map[string]*job
	held  []Pick
}

func (s *script) do(command string, a story.Args) string {
	q, now := s.sim.q, s.sim.now
	switch command {
	case "slots":
		q.slots = int(a.Int("n", 0))
	case "resource":
		s.rs[a.Text("name")] = q.AddResource(ResourceConfig{Name: a.Text("name"), Rate: float64(a.Int("rate", 0)), Concurrency: int(a.Int("concurrency", 0))})
	case "tenant":
		q.SetTenant(now, q.Tenant(a.Text("name")), Unit*a.Int("weight", 1), int(a.Int("cap", 0)))
	case "add":
		s.add(a)
	case "next":
		return s.next(int(a.Int("n", 1)), a.Text("hold") != "")
	case "done":
		for range a.Int("n", 1) {
			q.Done(now, s.held[0], ms)
			s.held = s.held[1:]
		}
	case "wait":
		s.sim.now += int64(a.Duration("for"))
	case "close":
		q.CloseUntil(now, s.rs[a.Text("resource")], now+a.Int("ms", 0)*ms)
	case "why":
		return q.Cause(s.bulks[a.Text("bulk")].e).String()
	case "pause", "resume", "cancel":
		s.control(command, a)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return ""
}

func (s *script) add(a story.Args) {
	on := a.Text("on")
	if on == "" {
		on = "r"
		if s.rs[on] == nil {
			s.rs[on] = s.sim.q.AddResource(ResourceConfig{Name: on})
		}
	}
	j := &job{tenant: a.Text("tenant"), r: s.rs[on], items: a.Int("items", 1), chunk: a.Int("chunk", 1)}
	g := s.sim.q.AddBulk(s.sim.q.Tenant(j.tenant), BulkConfig{
		Submit: s.sim.now, Tier: int(a.Int("tier", 2)), Cap: int(a.Int("cap", 0)), Priority: int(a.Int("priority", 0)),
	})
	if name := a.Text("bulk"); name != "" {
		s.bulks[name] = j
		j.tenant = name // what next prints
	}
	j.e = s.sim.q.AddEntry(g, j.r, 0)
	j.e.Data = j
	j.left = j.items
	s.sim.update(j)
}

// next picks up to n tasks and prints their bulk actions, or tenants where a bulk action has
// no name. Tasks end at once unless they are held.
func (s *script) next(n int, hold bool) string {
	var out []string
	for range n {
		p, ok := s.sim.q.Next(s.sim.now)
		if !ok {
			out = append(out, "-")
			if w := s.sim.q.Wake(); w < 1<<62 {
				out = append(out, fmt.Sprintf("(wake in %v)", time.Duration(w-s.sim.now).Round(time.Millisecond)))
			}
			break
		}
		j := p.Entry.Data.(*job)
		j.left -= int64(p.Cost)
		s.sim.update(j)
		name := j.tenant
		if p.Path != PathTier {
			name += "/" + p.Path.String()
		}
		out = append(out, name)
		if hold {
			s.held = append(s.held, p)
		} else {
			s.sim.q.Done(s.sim.now, p, ms)
		}
	}
	return strings.Join(out, " ")
}

func (s *script) control(command string, a story.Args) {
	q, now := s.sim.q, s.sim.now
	switch {
	case a.Text("bulk") != "":
		g := s.bulks[a.Text("bulk")].e.Bulk()
		map[string]func(int64, *Bulk){"pause": q.PauseBulk, "resume": q.ResumeBulk, "cancel": q.RemoveBulk}[command](now, g)
	case a.Text("tenant") != "":
		map[string]func(int64, *Tenant){"pause": q.PauseTenant, "resume": q.ResumeTenant}[command](now, q.Tenant(a.Text("tenant")))
	}
}
