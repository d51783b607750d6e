package partition

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
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
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{bench: newBench(t), tasks: map[string]*Task{}}
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
}

// script plays a story on a machine.
type script struct {
	*bench
	tasks map[string]*Task
	count int
	out   []string
}

// args are the key=value words of a command; the others are in order under "".
type args struct {
	named map[string]string
	plain []string
}

func (a args) int(key string, otherwise int64) int64 {
	if a.named[key] == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(a.named[key], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s=%s is not a number", key, a.named[key]))
	}
	return n
}

func (a args) duration(key string) time.Duration {
	if a.named[key] == "" {
		return 0
	}
	d, err := time.ParseDuration(a.named[key])
	if err != nil {
		panic(err)
	}
	return d
}

func (s *script) run(in string) string {
	s.out = nil
	for line := range strings.Lines(in) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		a := args{named: map[string]string{}}
		for _, w := range words[1:] {
			if k, v, named := strings.Cut(w, "="); named {
				a.named[k] = v
			} else {
				a.plain = append(a.plain, w)
			}
		}
		s.command(words[0], a)
	}
	if len(s.out) == 0 {
		return "nothing"
	}
	return strings.Join(s.out, "\n")
}

func (s *script) command(word string, a args) {
	switch word {
	case "chain":
		s.chain(a)
	case "forget":
		delete(s.chains, a.plain[0])
	case "create":
		s.create(a)
	case "pause", "resume", "cancel":
		s.message(envelope{Command: &Command{ID: weir.BulkID(a.plain[0]), Verb: Verb(word), Reason: a.named["reason"]}})
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
		s.now += int64(a.duration("for"))
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

func (s *script) chain(a args) {
	for i := range a.int("steps", 1) {
		st := weir.Step{Name: fmt.Sprintf("s%d", i), BatchSize: int(a.int("batch", 4)), Retry: weir.Backoff{
			MaxAttempts: int(a.int("attempts", 3)), Base: time.Second, Cap: time.Second,
		}}
		st.Resource = weir.Resource{
			Name: fmt.Sprintf("%s.%d", a.plain[0], i), Rate: weir.Rate(a.int("rate", 0)), Concurrency: int(a.int("concurrency", 0)),
		}
		s.chains[a.plain[0]] = append(s.chains[a.plain[0]][:i], st)
	}
}

func (s *script) create(a args) {
	c := Created{
		ID: weir.BulkID(a.plain[0]), Tenant: "t", Chain: a.named["chain"], Items: a.int("items", 1), FirstStep: int(a.int("first", 0)),
		Concurrency: int(a.int("concurrency", 0)), Submitted: s.now,
		StopOn: weir.StopRule{MaxFailures: a.int("max_failures", 0), Cancel: a.named["on_failures"] == "cancel"},
	}
	if d := a.duration("deadline"); d != 0 {
		c.Deadline = s.now + int64(d)
	}
	for i := range a.int("steps", int64(len(s.chains[c.Chain]))) {
		c.Steps = append(c.Steps, fmt.Sprintf("s%d", i))
	}
	s.message(envelope{Created: &c})
}

// result ends tasks: done, fail, refuse or timeout and their names, or items, a
// task's name and a letter per item: d(one), r(etry), f(ailed), l(eft out), n(o
// answer), b(usy).
func (s *script) result(word string, a args) {
	if word == "items" {
		t := s.tasks[a.plain[0]]
		var outcomes []weir.Outcome
		for i, c := range a.plain[1] {
			o := weir.Outcome{Kind: map[rune]weir.OutcomeKind{
				'd': weir.Done, 'r': weir.Retry, 'f': weir.Failed, 'l': weir.LeftOut, 'n': weir.NoOutcome, 'b': weir.Refused,
			}[c]}
			if o.Kind == weir.Done {
				o.Output = []byte(strconv.Itoa(int(t.Items[i])))
			}
			o.After = a.duration("after")
			outcomes = append(outcomes, o)
		}
		s.m.Result(s.now, &Result{Task: t, Outcomes: outcomes, Service: 1e6})
		return
	}
	for _, name := range a.plain {
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
			r.Failure = &Failure{Code: "busy", Refused: true, After: a.duration("after")}
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
