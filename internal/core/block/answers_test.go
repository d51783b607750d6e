package block

import "testing"

func TestAnswersThatAreCarriedOverAreFoundByStep(t *testing.T) {
	packed := PackAnswers([][]byte{[]byte(`{"a":1}`), nil, []byte(`3`), []byte(`"later"`)}, 3)
	for step, want := range []string{`{"a":1}`, ``, `3`, ``} {
		if got := string(CarriedAnswer(packed, step)); got != want {
			t.Errorf("step %d answered %q, want %q", step, got, want)
		}
	}
	if got := PackAnswers([][]byte{nil, nil, []byte(`1`)}, 2); got != nil {
		t.Errorf("no answers are packed as %q, want nothing", got)
	}
	for cut := range packed {
		CarriedAnswer(packed[:cut], 2) // must not panic
	}
}
