package sched

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the answers of the scripts instead of comparing them")

// TestScripts runs the stories of testdata. A story is made of blocks: comments
// and commands, a line of dashes, and the answers.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{t: t, sim: newSim(t, Options{}), rs: map[string]*Resource{}, groups: map[string]*job{}}
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
				in, want, _ := strings.Cut(block, "\n----")
				got := s.run(in)
				if want = strings.TrimSpace(want); got != want && !*update {
					t.Errorf("block %d:\n%s\n---- got\n%s\n---- want\n%s", i+1, in, got, want)
				}
				fmt.Fprintf(&out, "%s\n----\n%s\n\n", in, got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type script struct {
	t      *testing.T
	sim    *sim
	rs     map[string]*Resource
	groups map[string]*job
	held   []Pick
}

// args are the key=value words of a command.
type args map[string]string

func (a args) int(key string, otherwise int64) int64 {
	if a[key] == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(a[key], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s=%s is not a number", key, a[key]))
	}
	return n
}

func (s *script) run(in string) string {
	var out []string
	for line := range strings.Lines(in) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		a := args{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			a[k] = v
		}
		if answer := s.do(words[0], a); answer != "" {
			out = append(out, answer)
		}
	}
	return strings.Join(out, "\n")
}

func (s *script) do(command string, a args) string {
	q, now := s.sim.q, s.sim.now
	switch command {
	case "slots":
		q.slots = int(a.int("n", 0))
	case "resource":
		s.rs[a["name"]] = q.AddResource(ResourceConfig{Name: a["name"], Rate: float64(a.int("rate", 0)), Concurrency: int(a.int("concurrency", 0))})
	case "tenant":
		q.SetTenant(now, q.Tenant(a["name"]), Unit*a.int("weight", 1), int(a.int("cap", 0)))
	case "add":
		s.add(a)
	case "next":
		return s.next(int(a.int("n", 1)), a["hold"] != "")
	case "done":
		for range a.int("n", 1) {
			q.Done(now, s.held[0], ms)
			s.held = s.held[1:]
		}
	case "wait":
		d, err := time.ParseDuration(a["for"])
		if err != nil {
			s.t.Fatal(err)
		}
		s.sim.now += int64(d)
	case "close":
		q.CloseUntil(now, s.rs[a["resource"]], now+a.int("ms", 0)*ms)
	case "why":
		return q.Cause(s.groups[a["group"]].e).String()
	case "pause", "resume", "cancel":
		s.control(command, a)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return ""
}

func (s *script) add(a args) {
	on := a["on"]
	if on == "" {
		on = "r"
		if s.rs[on] == nil {
			s.rs[on] = s.sim.q.AddResource(ResourceConfig{Name: on})
		}
	}
	j := &job{tenant: a["tenant"], r: s.rs[on], items: a.int("items", 1), chunk: a.int("chunk", 1)}
	g := s.sim.q.AddGroup(s.sim.q.Tenant(j.tenant), GroupConfig{
		Submit: s.sim.now, Tier: int(a.int("tier", 2)), Cap: int(a.int("cap", 0)), Priority: int(a.int("priority", 0)),
	})
	if name := a["group"]; name != "" {
		s.groups[name] = j
		j.tenant = name // what next prints
	}
	j.e = s.sim.q.AddEntry(g, j.r, 0)
	j.e.Data = j
	j.left = j.items
	s.sim.update(j)
}

// next picks up to n tasks and prints their groups, or tenants where a group has
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
		if p.Lane != LaneTier {
			name += "/" + p.Lane.String()
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

func (s *script) control(command string, a args) {
	q, now := s.sim.q, s.sim.now
	switch {
	case a["group"] != "":
		g := s.groups[a["group"]].e.Group()
		map[string]func(int64, *Group){"pause": q.PauseGroup, "resume": q.ResumeGroup, "cancel": q.RemoveGroup}[command](now, g)
	case a["tenant"] != "":
		map[string]func(int64, *Tenant){"pause": q.PauseTenant, "resume": q.ResumeTenant}[command](now, q.Tenant(a["tenant"]))
	}
}
