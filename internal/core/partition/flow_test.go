package partition

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/chain"
	"pgregory.net/rapid"
)

// steps is a chain without limits.
func steps(n, batch int) (defs []weir.Step) {
	for i := range n {
		name := string(rune('a' + i))
		defs = append(defs, weir.Step{Name: name, BatchSize: batch, Resource: weir.Resource{Name: name}, Retry: weir.Backoff{}.WithDefaults()})
	}
	return defs
}

func TestSmallRestOfABlockWaitsASecondForCompany(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(2, 4)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a", "b"}, Items: 8}})
	tasks := b.settle()
	outcomes := b.allDone(tasks[0])
	outcomes[3] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "no"}
	b.m.Result(b.now, &Result{Task: tasks[0], Outcomes: outcomes})
	if got := b.settle(); len(got) != 0 {
		t.Fatalf("three items of a block were sent on while four more were on their way")
	}
	arrived := b.now // at the earliest, in one of the turns that settle took
	for do := b.advance(); b.now < arrived+chain.LingerFor-10*groupFor; do = b.advance() {
		if do.Wake > arrived+chain.LingerFor {
			t.Fatalf("wake in %d ns, want a second", do.Wake-b.now)
		}
		if b.now = min(do.Wake, arrived+chain.LingerFor-10*groupFor); len(b.settle()) != 0 {
			t.Fatal("it did not wait for a second")
		}
	}
	b.now = arrived + chain.LingerFor
	if got := b.settle(); len(got) != 1 || len(got[0].Items) != 3 {
		t.Fatalf("after a second: %d tasks, want one of three items", len(got))
	}
	b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1])})
	if got := b.settle(); len(got) != 1 || len(got[0].Items) != 4 {
		t.Errorf("a full batch waited for company")
	}
}

func TestPartialBatchIsReleasedWhenItCannotFillUp(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(2, 4)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a", "b"}, Items: 5}})
	tasks := b.settle()
	b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1])})
	if got := b.settle(); len(got) != 0 {
		t.Fatal("one item was sent on while four were on their way")
	}
	b.m.Result(b.now, &Result{Task: tasks[0], Failure: &Failure{Code: "boom"}})
	if got := b.settle(); len(got) != 1 || len(got[0].Items) != 1 {
		t.Errorf("the rest of a block waits for items that wait for a retry")
	}
}

// TestWorkInProgressIsBounded: a fast step before a slow one does not fill
// memory, and never stands still while the slow one has room.
func TestWorkInProgressIsBounded(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(3, 10)
	b.chains["c"][1].Resource.Rate = 50 // 2 seconds of it are 100 items
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a", "b", "c"}, Items: 3000}})
	begin, most, ended := b.now, int64(0), int64(0)
	for ended < 3000 {
		tasks := b.settle()
		for _, task := range tasks {
			b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task), Service: 1e6})
		}
		if bulk := b.m.bulks["ba_x"]; bulk != nil {
			most = max(most, bulk.steps[1].queued)
			ended = bulk.ended()
		} else {
			ended = 3000
		}
		if len(tasks) == 0 {
			do := b.advance()
			if do.Wake == Never && ended < 3000 {
				t.Fatalf("it stands still with %d items ended", ended)
			}
			b.now = max(b.now, min(do.Wake, b.now+1e9))
		}
	}
	if room := int64(100 + 8*10); most > room {
		t.Errorf("%d items waited for the slow step, want at most %d", most, room)
	}
	if took := (b.now - begin) / 1e9; took < 58 || took > 61 {
		t.Errorf("3000 items at 50/s took %d s", took)
	}
}

func TestRetryLargerThanATaskIsCutInParts(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 8)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 8}})
	b.m.Result(b.now, &Result{Task: b.settle()[0], Failure: &Failure{Code: "boom"}})
	b.settle()
	b.chains["c"][0].BatchSize = 3 // the next owner has tighter limits
	b.reload()
	b.now += 2e9
	tasks := b.settle()
	var sizes []int
	for _, task := range tasks {
		sizes = append(sizes, len(task.Items))
		if task.Attempt != 2 {
			t.Errorf("attempt %d, want 2", task.Attempt)
		}
	}
	if len(sizes) != 3 || sizes[0] != 3 || sizes[1] != 3 || sizes[2] != 2 {
		t.Fatalf("8 waiting items were cut into %v", sizes)
	}
	b.m.Result(b.now, &Result{Task: tasks[1], Outcomes: b.allDone(tasks[1])})
	b.settle()
	b.reload() // what was in flight is still there, with its attempt
	n := 0
	for _, task := range b.settle() {
		n += len(task.Items)
		if task.Attempt != 2 {
			t.Errorf("attempt %d after a crash, want 2", task.Attempt)
		}
	}
	if n != 5 {
		t.Errorf("%d items are run again after a crash, want 5", n)
	}
}

func TestARetryWaitsUntilTheAttemptBeforeIsDurable(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 8)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 8}})
	b.m.Result(b.now, &Result{Task: b.settle()[0], Failure: &Failure{Code: "boom"}})
	if b.advance(); b.flying == nil {
		t.Fatal("the result is not being written")
	}
	b.now += 3600e9 // the store takes its time
	if tasks := b.advance().Start; len(tasks) != 0 {
		t.Fatalf("attempt %d started before the one before it was durable", tasks[0].Attempt)
	}
	b.commit()
	if tasks := b.advance().Start; len(tasks) != 1 || tasks[0].Attempt != 2 {
		t.Errorf("%d tasks started after the commit, want the second attempt", len(tasks))
	}
}

// TestWhateverHappensEveryItemEndsOnce plays random answers, commands, delays
// and crashes, and checks every view on the way.
func TestWhateverHappensEveryItemEndsOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t)
		n := rapid.IntRange(1, 3).Draw(r, "steps")
		b.chains["c"] = steps(n, rapid.IntRange(1, 7).Draw(r, "batch"))
		c := &Created{ID: "ba_x", Tenant: "t", Chain: "c", Items: int64(rapid.IntRange(1, 60).Draw(r, "items"))}
		for _, s := range b.chains["c"] {
			c.Steps = append(c.Steps, s.Name)
		}
		b.message(envelope{Created: c})
		p := &player{bench: b, r: r}
		for range rapid.IntRange(0, 60).Draw(r, "length") {
			p.play()
		}
		p.finish()
	})
}

// player draws what happens to a machine.
type player struct {
	*bench
	r       *rapid.T
	running []*Task
	last    weir.Progress
}

func (p *player) step() {
	do := p.advance()
	p.running = append(p.running, do.Start...)
	for _, v := range do.Views {
		c := v.Counts
		if c.Ready+c.Waiting+c.InFlight+c.Ended() != c.Total || min(c.Ready, c.Waiting, c.InFlight) < 0 {
			p.r.Fatalf("counts do not add up: %+v", c)
		}
		if c.Done < p.last.Counts.Done || c.Failed < p.last.Counts.Failed {
			p.r.Fatalf("counts went back from %+v to %+v", p.last.Counts, c)
		}
		p.last = v
	}
}

func (p *player) play() {
	switch rapid.IntRange(0, 9).Draw(p.r, "what") {
	case 0:
		p.now += int64(rapid.IntRange(1, 3000).Draw(p.r, "ms")) * 1e6
	case 1:
		p.reload()
		p.running = nil
	case 2:
		verb := rapid.SampledFrom([]Verb{Pause, Resume, Resume, Cancel}).Draw(p.r, "verb")
		p.message(envelope{Command: &Command{ID: "ba_x", Verb: verb}})
	case 3, 4, 5:
		if p.flying != nil {
			p.commit()
		}
	default:
		p.answer()
	}
	p.step()
}

func (p *player) answer() {
	if len(p.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.running)-1).Draw(p.r, "task")
	t := p.running[i]
	p.running = append(p.running[:i], p.running[i+1:]...)
	result := &Result{Task: t}
	switch rapid.IntRange(0, 5).Draw(p.r, "answer") {
	case 0:
		result.Failure = &Failure{Code: "boom"}
	case 1:
		result.Failure = &Failure{Code: "busy", Refused: true}
	default:
		result.Outcomes = p.allDone(t)
		for i := range result.Outcomes {
			result.Outcomes[i].Kind = rapid.SampledFrom([]weir.OutcomeKind{
				weir.OutcomeDone, weir.OutcomeDone, weir.OutcomeDone, weir.OutcomeRetry, weir.OutcomeFailed, weir.OutcomeLeftOut, weir.OutcomeRefused, weir.OutcomeNone,
			}).Draw(p.r, "outcome")
		}
	}
	p.m.Result(p.now, result)
}

// finish lets everything that is left succeed.
func (p *player) finish() {
	p.message(envelope{Command: &Command{ID: "ba_x", Verb: Resume}})
	for range 10_000 {
		p.step()
		switch {
		case p.flying != nil:
			p.commit()
		case len(p.running) > 0:
			t := p.running[0]
			p.running = p.running[1:]
			p.m.Result(p.now, &Result{Task: t, Outcomes: p.allDone(t)})
		case p.last.State.Final():
			if len(p.m.bulks) != 0 || p.last.Counts.Ended() != p.last.Counts.Total {
				p.r.Fatalf("ended with %+v", p.last.Counts)
			}
			return
		default:
			p.now += 1e9
		}
	}
	p.r.Fatalf("it does not end: %+v", p.last)
}
