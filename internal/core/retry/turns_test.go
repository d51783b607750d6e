package retry

import "testing"

func TestRetriesWaitForTheirTurnOnlyBesideFirstAttempts(t *testing.T) {
	const now, rate = int64(1_800_000_000e9), 100.0
	var turns Turns[string]
	var a, b, c Turn
	ask := func(name string, turn *Turn) bool {
		turn.Granted = false
		turns.Ask(now, name, turn, false, 10, rate)
		return turn.Granted
	}
	for range 3 {
		if !ask("a", &a) {
			t.Error("a retry waits without first attempts")
		}
	}
	turns.NoteFresh(&c, true)
	if !ask("a", &a) || ask("a", &a) || ask("b", &b) {
		t.Error("beside first attempts, want one retry to go and the next ones to wait")
	}
	at, any := turns.Next()
	if want := now + int64(10/(Portion*rate)*1e9); !any || at != want {
		t.Errorf("the next turn is at %d, want %d", at, want)
	}
	if _, ok := turns.Due(at - 1); ok {
		t.Error("a step may ask again before its time")
	}
	if step, ok := turns.Due(at); !ok || step != "a" {
		t.Errorf("%q may ask again, want the one that has waited longest", step)
	}
	turns.Ask(at, "a", &a, false, 10, rate)
	if !a.Granted {
		t.Error("the retry whose turn it is does not get it")
	}
	if again := turns.NoteFresh(&c, false); len(again) != 1 || again[0] != "b" {
		t.Errorf("%v may ask again when no first attempts wait any more, want b", again)
	}
	if _, any := turns.Next(); any || !ask("b", &b) {
		t.Error("a retry still waits without first attempts")
	}
}

func TestRetriesWithoutARateHaveTheirTurn(t *testing.T) {
	var turns Turns[int]
	var turn, other Turn
	turns.NoteFresh(&other, true)
	turns.Ask(1, 1, &turn, true, 1000, 0)
	if !turn.Granted {
		t.Error("a retry waits without a rate to share")
	}
}
