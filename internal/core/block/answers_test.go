package block

import "testing"

func TestAnswersThatAreCarriedOverAreFoundByStep(t *testing.T) {
	packed := PackAnswers([][]byte{[]byte(`{"a":1}`), nil, []byte(`3`), []byte(`"later"`)}, 3)
	for step, want := range []string{`{"a":1}`, ``, `3`, ``} {
		if got := string(CarriedAnswer(packed, step, 3)); got != want {
			t.Errorf("step %d answered %q, want %q", step, got, want)
		}
	}
	if got := PackAnswers([][]byte{nil, nil, []byte(`1`)}, 2); got != nil {
		t.Errorf("no answers are packed as %q, want nothing", got)
	}
	old := []byte(`{"of":"an older version"}`) // the answer of the step before alone
	if got := CarriedAnswer(old, 1, 2); string(got) != string(old) {
		t.Errorf("step before answered %q, want %q", got, old)
	}
	if got := CarriedAnswer(old, 0, 2); got != nil {
		t.Errorf("an earlier step answered %q, want nothing", got)
	}
	for cut := range packed {
		CarriedAnswer(packed[:cut], 2, 3) // must not panic
	}
}
