package partition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

func TestAnswerThatDidNotComeIsNeverTakenForYesOrNo(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Verdict
	}{
		{"an answer without error is a yes", nil, Written},
		{"a former owner lets go", fmt.Errorf("commit: %w", store.ErrFenced), Dropped},
		{"no answer: ask again, the store knows", fmt.Errorf("commit: %w", store.ErrUnknown), Again},
		{"an error says that nothing was written", errors.New("no route"), Again},
		{"a repeat was written by an earlier try", &store.NumberError{Got: 7, Want: 8}, Written},
		{"a store that is elsewhere is not ours", &store.NumberError{Got: 7, Want: 12}, Dropped},
		{"a store that has forgotten is not ours", &store.NumberError{Got: 7, Want: 3}, Dropped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := AfterCommit(tt.err); got != tt.want {
				t.Errorf("AfterCommit(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

func TestCancelOfAMillionItemsIsOneRowOfItsOwn(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 100)
	b.message(envelope{Created: &Created{ID: "ba_big", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 1_000_000}})
	tasks := b.settle()
	for range 50 { // some blocks are under way, with waits
		for _, task := range tasks {
			outcomes := b.allDone(task)
			outcomes[0] = weir.Outcome{Kind: weir.OutcomeRetry}
			b.m.Result(b.now, &Result{Task: task, Outcomes: outcomes})
		}
		tasks = b.settle()
	}
	b.message(envelope{Command: &Command{ID: "ba_big", Verb: Cancel}})
	do := b.advance()
	if do.Commit == nil || describe(do.Commit) != "status ack2" {
		t.Fatalf("a cancel writes %+v, want one row and the time", do.Commit)
	}
	b.commit()
	if n := len(b.advance().Start); n != 0 {
		t.Errorf("%d tasks started after the cancel", n)
	}
	for _, task := range tasks {
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task)})
	}
	do = b.advance()
	if most := len(tasks)*2 + 3; len(do.Commit.Set) > most {
		t.Errorf("the end of a cancelled bulk action writes %d rows, want at most %d", len(do.Commit.Set), most)
	}
	b.commit()
	if v := b.advance().Views; len(v) != 1 || v[0].State != weir.BulkCancelled || v[0].Counts.Ended() != 1_000_000 {
		t.Errorf("views after the end: %+v", v)
	}
}

func TestDamagedRowsAreFound(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(2, 4)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0", "s1"}, Items: 8}})
	for _, task := range b.settle() {
		outcomes := b.allDone(task)
		outcomes[1] = weir.Outcome{Kind: weir.OutcomeRetry}
		b.m.Result(b.now, &Result{Task: task, Outcomes: outcomes})
	}
	b.settle()
	for key, value := range b.rows {
		if key[0] == kindActive || key[0] == kindResults {
			continue // the one has no value, the other its own checksum
		}
		read := func() error { return New(b.config(), 0).Load(b.now, b.rows) }
		if key[0] == kindTime {
			read = func() error {
				_, err := LastStart(memory{key: value}, b.now) // as if no work had been left
				return err
			}
		}
		if key[0] == kindTerm {
			read = func() error {
				_, err := EntriesOf(b.rows, Term(key[:9]), Span{}, 1)
				return err
			}
		}
		for i := range value {
			value[i] ^= 0x40
			if err := read(); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("row %q with byte %d changed: read = %v, want ErrCorrupt", key, i, err)
			}
			value[i] ^= 0x40
		}
	}
	for _, body := range []string{"", "{", "{}", `{"created":3}`} {
		if _, err := b.m.Message(b.now, store.Message{Seq: 99, Body: []byte(body)}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Message(%q) = %v, want ErrCorrupt", body, err)
		}
	}
}

func TestLatenciesAreReadBack(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 3}})
	for i, task := range b.settle() {
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task), Service: []int64{0, 20e6, 1 << 62}[i]})
	}
	b.settle()
	h, err := ReadLatency(b.rows, "ba_x", 0)
	if err != nil || h == nil || h.TotalCount() != 3 || h.Max() < latencyMax || h.ValueAtQuantile(50) < 19_000 || h.ValueAtQuantile(50) > 22_000 {
		t.Fatalf("ReadLatency = %v, %v", h, err)
	}
	if h, err := ReadLatency(b.rows, "ba_x", 1); h != nil || err != nil {
		t.Errorf("latencies of a step that never ran = %v, %v", h, err)
	}
	for _, raw := range [][]byte{{0x80}, {1}, {0xff, 0xff, 0xff, 0x7f, 1}} {
		if err := new(latency).decode(raw); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("decode(%v) = %v, want ErrCorrupt", raw, err)
		}
	}
}

func TestNothingStartsWhileTooMuchIsUncommitted(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 100)
	b.message(envelope{Created: &Created{ID: "ba_big", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 100_000}})
	tasks, results := b.settle(), 0
	for len(tasks) > 0 { // the store does not answer
		for _, task := range tasks {
			results += len(task.Items)
			b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task)})
		}
		tasks = b.advance().Start
	}
	if most := b.m.window + benchSlots*100; results < b.m.window || results > most {
		t.Errorf("%d items ran without a commit, want %d to %d", results, b.m.window, most)
	}
	b.commit()
	if len(b.advance().Start) == 0 {
		t.Error("nothing starts after the commit")
	}
}

func TestLatenciesSurviveATakeover(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 4)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 8}})
	tasks := b.settle()
	b.now += 2 * latencyEvery
	b.m.Result(b.now, &Result{Task: tasks[0], Outcomes: b.allDone(tasks[0]), Service: 5e6})
	b.settle()
	b.reload()
	for _, task := range b.settle() {
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task), Service: 5e6})
	}
	b.settle()
	h, err := ReadLatency(b.rows, "ba_x", 0)
	if err != nil || h == nil || h.TotalCount() != 2 {
		t.Errorf("latencies of two tasks, one of them before the takeover: %+v, %v", h, err)
	}
}

func TestCommitsThatAreNotUrgentAreAMillisecondApart(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 4}})
	tasks := b.settle()
	b.now = b.m.lastCut
	end := func(i int) *store.Batch {
		b.m.Result(b.now, &Result{Task: tasks[i], Outcomes: b.allDone(tasks[i])})
		do := b.m.Advance(b.now)
		b.flying = do.Commit
		if do.Commit == nil && do.Wake != b.m.lastCut+groupFor {
			t.Errorf("a commit that waits is not woken: wake at %d, last cut at %d", do.Wake, b.m.lastCut)
		}
		return do.Commit
	}
	if end(0) != nil {
		t.Error("a result was committed at once, right after another commit, while tasks run")
	}
	b.now += groupFor
	if end(1) == nil {
		t.Fatal("nothing was committed after a millisecond")
	}
	b.commit()
	if end(2) != nil {
		t.Error("a result was committed at once, right after another commit, while tasks run")
	}
	if end(3) == nil {
		t.Error("the end of the bulk action was not committed at once")
	}
}

func TestEveryMessageIsAcknowledgedAndTellsWhatItAdded(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	created := envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 3}}
	resume := envelope{Command: &Command{ID: "ba_x", Verb: Resume}}
	for i, tt := range []struct {
		name  string
		e     envelope
		added bool
	}{
		{"a bulk action", created, true},
		{"the same again", created, false},
		{"a resume of one that runs", resume, false},
		{"a mark", envelope{Mark: "end"}, false},
	} {
		body, err := json.Marshal(tt.e)
		if err != nil {
			t.Fatal(err)
		}
		added, err := b.m.Message(b.now, store.Message{Seq: uint64(i + 1), Body: body})
		if err != nil || (added != nil) != tt.added {
			t.Errorf("%s: Message = %v, %v; want added %v", tt.name, added, err, tt.added)
		}
		b.settle()
		if b.acked != uint64(i+1) {
			t.Errorf("%s: acknowledged up to %d, want %d", tt.name, b.acked, i+1)
		}
	}
	if _, s, err := ReadStatus(b.rows, "ba_x"); err != nil || s.Resumes != 1 {
		t.Errorf("status = %+v, %v; want one resume that was read", s, err)
	}
}

// The items of a small bulk action come with its message: the commit that acknowledges the message makes them a row.
func TestItemsThatComeWithAMessageBecomeARowInTheCommitThatAcknowledgesIt(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	block := []byte("\x00 bytes \x00 of any kind {\x00")
	c := Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 3, Inline: true, Block: block}
	body, err := EncodeCreated(c)
	if err != nil {
		t.Fatal(err)
	}
	added, err := b.m.Message(b.now, store.Message{Seq: 1, Body: body})
	if err != nil || added == nil || !bytes.Equal(added.Block, block) {
		t.Fatalf("Message = %+v, %v; want the block", added, err)
	}
	if _, err := ReadInline(b.rows, "ba_x"); !errors.Is(err, store.ErrNotFound) || b.acked != 0 {
		t.Errorf("before the commit: %v, acknowledged up to %d", err, b.acked)
	}
	b.settle()
	if got, err := ReadInline(b.rows, "ba_x"); err != nil || !bytes.Equal(got, block) || b.acked != 1 {
		t.Errorf("after the commit: %q, %v, acknowledged up to %d; want the block and 1", got, err, b.acked)
	}
	r, err := NextRemoval(b.now, b.rows, "ba_x")
	if err != nil || !slices.ContainsFunc(r.delete, func(k []byte) bool { return bytes.Equal(k, inlineKey("ba_x")) }) {
		t.Errorf("removal = %+v, %v; want one that takes the items", r, err)
	}
}

// newTiny returns a machine that has just read of n bulk actions of one item each, and what it did with them at once.
func newTiny(t *testing.T, n int) (*bench, *Effects) {
	t.Helper()
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	for i := range n {
		b.message(envelope{Created: tiny(i)})
	}
	return b, b.at(b.now)
}

func tiny(no int) *Created {
	return &Created{ID: weir.BulkID(fmt.Sprint("ba_", no)), Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 1, Inline: true}
}

// at advances at a time.
func (b *bench) at(now int64) *Effects {
	b.now = now
	do := b.m.Advance(now)
	if do.Commit != nil {
		b.flying = do.Commit
	}
	return do
}

func (b *bench) succeed(t *Task) { b.m.Result(b.now, &Result{Task: t, Outcomes: b.allDone(t)}) }

func TestATinyBulkActionIsOneCommit(t *testing.T) {
	b, do := newTiny(t, 2)
	begin, tasks := b.now, slices.Clone(do.Start)
	if len(tasks) != 2 || do.Commit != nil || do.Wake != begin+firstFor {
		t.Fatalf("at once: %d tasks, commit %v, wake after %d ns; want 2 tasks, and a commit that waits %d ns", len(tasks), do.Commit,
			do.Wake-begin, firstFor)
	}
	b.succeed(tasks[0])
	if do := b.at(begin + 1000); do.Commit != nil {
		t.Fatalf("after the first result: commit of %s, want it to wait for the second", describe(do.Commit))
	}
	b.succeed(tasks[1])
	do = b.at(begin + 2000)
	if do.Commit == nil {
		t.Fatal("both results are there, and nothing is written")
	}
	if got, want := describe(do.Commit), "spec spec block0 results0 block0 results0 status latency status latency ack2"; got != want {
		t.Errorf("commit = %s\nwant %s", got, want)
	}
	b.commit()
	if do := b.at(begin + 3000); len(do.Views) != 2 || do.Views[0].State != weir.BulkCompleted || do.Ended != 2 || do.Commit != nil {
		t.Errorf("after it: %+v, want both completed and nothing else to write", do)
	}
	b.reload()
	if len(b.settle()) != 0 || b.m.Pending() != 0 {
		t.Errorf("a takeover finds work: %d items", b.m.Pending())
	}
}

func TestACreationWaitsForNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(b *bench, first *Task)
		at   int64 // when the commit comes
	}{
		{"results that do not come", func(*bench, *Task) {}, firstFor},
		{"a result", (*bench).succeed, 1000},
		{"a retry", func(b *bench, first *Task) {
			b.m.Result(b.now, &Result{Task: first, Outcomes: []weir.Outcome{{Kind: weir.OutcomeRetry}}})
		}, 1000},
		{"a command", func(b *bench, _ *Task) { b.message(envelope{Command: &Command{ID: "ba_0", Verb: Pause}}) }, 1000},
		{"another bulk action", func(b *bench, _ *Task) { b.message(envelope{Created: tiny(1)}) }, firstFor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, do := newTiny(t, 1)
			begin := b.now
			if do.Commit != nil {
				t.Fatalf("at once: commit of %s", describe(do.Commit))
			}
			tt.then(b, do.Start[0])
			for _, at := range []int64{1000, firstFor - 1, firstFor} {
				if do := b.at(begin + at); do.Commit != nil {
					if at != tt.at {
						t.Errorf("commit of %s after %d ns, want it after %d", describe(do.Commit), at, tt.at)
					}
					return
				}
			}
			t.Error("no commit")
		})
	}
}

func TestALargeBulkActionIsWrittenAtOnce(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 1)
	c := tiny(0)
	c.Inline = false
	b.message(envelope{Created: c})
	if do := b.at(b.now); do.Commit == nil || len(do.Start) != 1 {
		t.Errorf("%d tasks, commit %v; want a task and a commit", len(do.Start), do.Commit)
	}
}
