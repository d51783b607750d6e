package partition

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/testkit/story"
)

func TestStories(t *testing.T) {
	story.Run(t, func(t *testing.T) story.Do {
		s := &script{bench: newBench(t), tasks: map[string]*Task{}}
		return func(command string, a story.Args) string {
			s.out = nil
			s.command(command, a)
			return strings.Join(s.out, "\n")
		}
	})
}

// script plays a story on a machine.
type script struct {
	*bench
	tasks map[string]*Task
	count int
	out   []string
}

func (s *script) command(word string, a story.Args) {
	switch word {
	case "chain":
		s.chain(a)
	case "forget":
		delete(s.chains, a.Plain[0])
	case "create":
		s.create(a)
	case "pause", "resume", "cancel":
		s.message(envelope{Command: &Command{ID: weir.BulkID(a.Plain[0]), Verb: Verb(word), Reason: a.Text("reason")}})
	case "advance":
		s.advance()
	case "commit":
		if s.flying == nil {
			s.print("nothing to commit")
			return
		}
		s.commit()
		s.advance()
	case "wait":
		s.now += int64(a.Duration("for"))
		s.advance()
	case "crash":
		s.reload()
		s.tasks = map[string]*Task{}
		s.advance()
	case "stop":
		s.m.Stop()
	case "rows":
		s.print("%s", strings.Join(s.rows.kinds(), " "))
	default:
		s.result(word, a)
	}
}

func (s *script) chain(a story.Args) {
	for i := range a.Int("steps", 1) {
		st := weir.Step{Name: fmt.Sprintf("s%d", i), BatchSize: int(a.Int("batch", 4)), Retry: weir.Backoff{
			MaxAttempts: int(a.Int("attempts", 3)), Base: time.Second, Cap: time.Second,
		}}
		st.Resource = weir.Resource{
			Name: fmt.Sprintf("%s.%d", a.Plain[0], i), Rate: weir.Rate(a.Int("rate", 0)), Concurrency: int(a.Int("concurrency", 0)),
		}
		s.chains[a.Plain[0]] = append(s.chains[a.Plain[0]][:i], st)
	}
}

func (s *script) create(a story.Args) {
	c := Created{
		ID: weir.BulkID(a.Plain[0]), Tenant: "t", Chain: a.Text("chain"), Items: a.Int("items", 1), FirstStep: int(a.Int("first", 0)),
		Concurrency: int(a.Int("concurrency", 0)), Submitted: s.now,
		StopOn: weir.StopRule{MaxFailures: a.Int("max_failures", 0), Cancel: a.Text("on_failures") == "cancel"},
	}
	if d := a.Duration("deadline"); d != 0 {
		c.Deadline = s.now + int64(d)
	}
	for i := range a.Int("steps", int64(len(s.chains[c.Chain]))) {
		c.Steps = append(c.Steps, fmt.Sprintf("s%d", i))
	}
	s.message(envelope{Created: &c})
}

// result ends tasks: done, fail, refuse or timeout and their names, or items, a
// task's name and a letter per item: d(one), r(etry), f(ailed), l(eft out), n(o
// answer), b(usy).
func (s *script) result(word string, a story.Args) {
	if word == "items" {
		t := s.tasks[a.Plain[0]]
		var outcomes []weir.Outcome
		for i, c := range a.Plain[1] {
			o := weir.Outcome{Kind: map[rune]weir.OutcomeKind{
				'd': weir.OutcomeDone, 'r': weir.OutcomeRetry, 'f': weir.OutcomeFailed, 'l': weir.OutcomeLeftOut, 'n': weir.OutcomeNone, 'b': weir.OutcomeRefused,
			}[c]}
			if o.Kind == weir.OutcomeDone {
				o.Output = []byte(strconv.Itoa(int(t.Items[i])))
			}
			o.After = a.Duration("after")
			outcomes = append(outcomes, o)
		}
		s.m.Result(s.now, &Result{Task: t, Outcomes: outcomes, Service: 1e6})
		return
	}
	for _, name := range a.Plain {
		t := s.tasks[name]
		if t == nil {
			panic("no task " + name)
		}
		r := &Result{Task: t, Service: 1e6}
		switch word {
		case "done":
			r.Outcomes = s.allDone(t)
		case "fail":
			r.Failure = &Failure{Code: "boom"}
		case "timeout":
			r.Failure = &Failure{Code: "timeout"}
		case "refuse":
			r.Failure = &Failure{Code: "busy", Refused: true, After: a.Duration("after")}
		default:
			panic("unknown command " + word)
		}
		delete(s.tasks, name)
		s.m.Result(s.now, r)
	}
}

// advance lets the machine go on and writes down what it wants.
func (s *script) advance() {
	do := s.bench.advance()
	for i := range do.Views {
		v := &do.Views[i]
		line := fmt.Sprintf("%s %v: ready %d waiting %d in flight %d done %d failed %d cancelled %d", v.ID, v.State,
			v.Counts.Ready, v.Counts.Waiting, v.Counts.InFlight, v.Counts.Done, v.Counts.Failed, v.Counts.Cancelled)
		if len(v.WaitingOn) > 0 {
			line += " on " + strings.Join(v.WaitingOn, ",")
		}
		s.print("%s", line)
	}
	for _, t := range do.Start {
		s.count++
		name := "t" + strconv.Itoa(s.count)
		s.tasks[name] = t
		line := fmt.Sprintf("%s: %s step %d block %d items %s attempt %d", name, t.Bulk, t.StepNo, t.Block, ranges(t.Items), t.Attempt)
		if t.StepNo > 0 {
			line += " given"
			for _, p := range t.Previous {
				line += " " + string(p)
				if p == nil {
					line += "(stored)"
				}
			}
		}
		s.print("%s", line)
	}
	if do.Commit != nil {
		s.print("commit %d: %s", do.Commit.Number, describe(do.Commit))
	}
}

func (s *script) print(format string, args ...any) {
	s.out = append(s.out, fmt.Sprintf(format, args...))
}

// ranges writes rising numbers as 0-3,7.
func ranges(items []uint16) string {
	var parts []string
	for i := 0; i < len(items); {
		j := i
		for j+1 < len(items) && items[j+1] == items[j]+1 {
			j++
		}
		if part := strconv.Itoa(int(items[i])); i == j {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(int(items[j])))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
