package model

import (
	"slices"
	"testing"
)

// judged are the seeds of the scenarios; nothing was tuned on them.
var judged = []uint64{2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008}

// scenario returns a built-in world with a seed.
func scenario(t *testing.T, name string, seed uint64) World {
	t.Helper()
	w, ok := ByName(name)
	if !ok {
		t.Fatalf("scenario %q not found", name)
	}
	w.Seed = seed
	return w
}

// target prints one figure beside its target, and fails if it is missed.
func target(t *testing.T, seed uint64, what string, got, most float64) {
	t.Helper()
	t.Logf("seed %d: %s: %.3f, target at most %.3f", seed, what, got, most)
	if got > most {
		t.Errorf("seed %d: %s is %.3f, want at most %.3f", seed, what, got, most)
	}
}

func TestScenariosAreValidAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Worlds() {
		if err := w.Validate(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		if w.About == "" || seen[w.Name] {
			t.Errorf("scenario %q says nothing about itself, or is there twice", w.Name)
		}
		seen[w.Name] = true
	}
	if _, ok := ByName("nothing"); ok {
		t.Error("a scenario without a name was found")
	}
}

func TestArticleGrowsFromEightToSixtyFour(t *testing.T) {
	for _, seed := range judged {
		w := scenario(t, "article", seed)
		fixed, knowing := w, w
		fixed.Workers, knowing.Workers = Workers{Start: 8, Max: 8}, Workers{Start: 64, Max: 64}
		r := play(t, w)
		took, eight, best := seconds(r.End), seconds(play(t, fixed).End), seconds(play(t, knowing).End)
		target(t, seed, "time against 8 fixed workers", took/eight, 0.16)
		target(t, seed, "time against 64 from the start", took/best, 1.10)
		target(t, seed, "reversals", float64(r.Resources[0].Reversals), 5)
	}
}

func TestIncidentIsContained(t *testing.T) {
	for _, seed := range judged {
		w := scenario(t, "incident", seed)
		r := play(t, w)
		push := r.Resources[0].Seconds
		before := push[59].Workers
		during := slices.MaxFunc(push[60:180], func(a, b Second) int { return a.Workers - b.Workers }).Workers
		target(t, seed, "growth of the pool during the incident", float64(during)/float64(before), 1)
		opened := slices.IndexFunc(push[60:180], func(s Second) bool { return s.Breaker != "closed" })
		if opened < 0 {
			t.Errorf("seed %d: the breaker did not open", seed)
		}
		back := slices.IndexFunc(push[180:], func(s Second) bool { return s.Started >= 950 })
		if back < 0 {
			t.Fatalf("seed %d: never back to the full rate", seed)
		}
		target(t, seed, "seconds from recovery to the full rate", float64(back+1), 30)

		// The lane beside it meets the same luck with and without the incident. They
		// share slots, and with them the slot guard of their partition, so a tail may move a little.
		calm := w.clone()
		calm.Resources[0].Downstream.Incidents = nil
		want := play(t, calm).Kinds[1]
		target(t, seed, "p99 of the lane beside it against no incident", float64(r.Kinds[1].TookP99)/float64(want.TookP99), 1.03)
		target(t, seed, "median of the lane beside it against no incident", float64(r.Kinds[1].TookP50)/float64(want.TookP50), 1.01)
	}
}

func TestDepthPolicyGrowsIntoTheIncident(t *testing.T) {
	w := scenario(t, "incident", judged[0])
	w.Workers.Policy = "depth"
	push := play(t, w).Resources[0].Seconds
	if before, during := push[59].Workers, push[120].Workers; during < 4*before {
		t.Errorf("%d workers before and %d during the incident: the scenario shows no difference", before, during)
	}
}

func TestFloodDoesNotDrownTheSmall(t *testing.T) {
	for _, seed := range judged {
		r := play(t, scenario(t, "flood", seed))
		target(t, seed, "small bulk actions beside the flood, slowdown p99", r.Kinds[1].SlowdownP99, 2)
		target(t, seed, "small bulk actions beside the flood, slowdown median", r.Kinds[1].SlowdownP50, 1.2)
		started := 0.0
		for _, s := range r.Resources[0].Seconds[20:100] {
			started += float64(s.Started)
		}
		target(t, seed, "part of the rate that is not used", 1-started/80/10_000, 0.02)
	}
}

func TestStepIsFollowed(t *testing.T) {
	for _, seed := range judged {
		s := play(t, scenario(t, "step", seed)).Resources[0]
		needed := 80 * 0.5 / 0.8
		reached := slices.IndexFunc(s.Seconds[120:], func(x Second) bool { return float64(x.Workers) >= 0.9*needed })
		if reached < 0 {
			t.Fatalf("seed %d: never enough workers", seed)
		}
		target(t, seed, "seconds from the step to 90 % of the workers", float64(reached+1), 15)
		target(t, seed, "overshoot", float64(s.WorkersPeak)/needed-1, 0.35)
		target(t, seed, "reversals", float64(s.Reversals), 5)
		if last := s.Seconds[len(s.Seconds)-1].Workers; last > 20 {
			t.Errorf("seed %d: %d workers are left five minutes after the step", seed, last)
		}
	}
}
