//go:build unix

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/recorder"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

// A kill -9 at any moment of a two-step run costs nothing but a bounded number
// of repeated calls. The recording downstream is the judge; see its Verify for
// what is checked.
func TestKilledAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel() // mostly waits for other processes
	items, kills := 80_000, 20
	if testing.Short() {
		items, kills = 20_000, 5
	}
	w := newWorld(t, items)
	random := rand.New(rand.NewPCG(killSeed, uint64(kills)))
	begin := time.Now()
	for range kills {
		w.killOne(random)
	}
	killing := time.Since(begin)
	w.finish()
	t.Logf("%d kills in %v, the rest of the run in %v", kills, killing, time.Since(begin)-killing)
	w.verify(kills)
}

// A clean stop repeats nothing: running tasks end and are written first.
func TestStoppedCleanlyRepeatsNothing(t *testing.T) {
	t.Parallel()
	items, stops := 40_000, 5
	if testing.Short() {
		items, stops = 10_000, 2
	}
	w := newWorld(t, items)
	random := rand.New(rand.NewPCG(killSeed, uint64(stops)))
	for range stops {
		w.stopOne(random)
	}
	w.finish()
	w.verify(0)
}

// world is a recorder, and an engine that is started again and again.
type world struct {
	t        *testing.T
	dir      string
	items    int
	recorder *life.Process
	url      string
	life     int
	bulk     string // id that the first life to get so far was given
}

func newWorld(t *testing.T, items int) *world {
	w := &world{t: t, dir: t.TempDir(), items: items}
	w.recorder = life.Start(t, childTest, envRole+"=recorder", envDir+"="+w.dir)
	var err error
	if w.url, err = w.recorder.Await("ready"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) start() *life.Process {
	w.t.Helper()
	w.life++
	return life.Start(w.t, childTest, envRole+"=engine", envDir+"="+w.dir, envURL+"="+w.url,
		envLife+"="+strconv.Itoa(w.life), envItems+"="+strconv.Itoa(w.items))
}

// accepted waits until the run goes on, and checks that it is always the same one.
func (w *world) accepted(c *life.Process) {
	w.t.Helper()
	id, err := c.Await("accepted")
	if err != nil {
		w.t.Fatalf("life %d: %v", w.life, err)
	}
	if w.bulk == "" {
		w.bulk = id
	}
	if id != w.bulk {
		w.t.Fatalf("life %d: the same submit is now %s, it was %s", w.life, id, w.bulk)
	}
}

// killOne starts the engine and kills it: one time in five while it starts and
// submits, else while it runs.
func (w *world) killOne(random *rand.Rand) {
	w.t.Helper()
	early, part := random.IntN(5) == 0, random.Float64()
	c := w.start()
	if early {
		if _, err := c.Await("up"); err != nil {
			w.t.Fatalf("life %d: %v", w.life, err)
		}
		<-time.After(time.Duration(part * float64(250*time.Millisecond)))
	} else {
		w.accepted(c)
		<-time.After(30*time.Millisecond + time.Duration(part*float64(370*time.Millisecond)))
	}
	if err := c.Kill(); err != nil {
		w.t.Fatalf("life %d: %v; the load does not span the kills", w.life, err)
	}
}

func (w *world) stopOne(random *rand.Rand) {
	w.t.Helper()
	c := w.start()
	w.accepted(c)
	<-time.After(time.Duration(random.IntN(400)) * time.Millisecond)
	if err := c.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := c.Wait(); life.Code(err) != exitStopped {
		w.t.Fatalf("life %d: asked to stop it ended with %v, want exit code %d", w.life, err, exitStopped)
	}
}

// finish lets the last life do the rest, and ends the recorder.
func (w *world) finish() {
	w.t.Helper()
	c := w.start()
	w.accepted(c)
	if err := c.Wait(); err != nil {
		w.t.Fatalf("last life: %v", err)
	}
	if err := w.recorder.Stop(); err != nil {
		w.t.Fatalf("recorder: %v", err)
	}
}

// verify lets the recorder's log judge the report. A death puts at risk what is
// in flight, at most slots x batch items, and what ended while a commit was under
// way: as a call takes longer than a commit, that is one result of each slot.
func (w *world) verify(kills int) {
	w.t.Helper()
	calls, err := readCalls(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	rep, err := recorder.ReadReport(reportDir(w.dir))
	if err != nil {
		w.t.Fatal(err)
	}
	run := recorder.Run{
		Seed: killSeed, Steps: []string{recorder.Award, recorder.Message}, MaxAttempts: killAttempts,
		Deaths: kills, AtRisk: 2 * killSlots * killBatch, Bulk: w.bulk,
		Items: func(yield func(string) bool) {
			for i := range w.items {
				if !yield(killID(i)) {
					return
				}
			}
		},
	}
	stats, err := recorder.Verify(calls, rep, run)
	w.t.Logf("%d lives; %v; bound %d for each of %d deaths", w.life, stats, run.AtRisk, kills)
	if err != nil {
		w.t.Error(err)
	}
}

func readCalls(dir string) ([]recorder.Entry, error) {
	f, err := os.Open(logFile(dir))
	if err != nil {
		return nil, fmt.Errorf("calls: %w", err)
	}
	defer f.Close()
	return recorder.ReadLog(f)
}
