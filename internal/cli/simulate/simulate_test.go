package simulate

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/lab/model"
)

func TestChangesReadAsPeopleSayThem(t *testing.T) {
	for _, tt := range []struct {
		a, b float64
		want string
	}{
		{100, 100, "the same"}, {100, 67, "-33%"}, {100, 150, "+50%"}, {1, 5.14, "5.1x"}, {1, 120, "120x"}, {0, 3, ""},
	} {
		if got := changeText(tt.a, tt.b); got != tt.want {
			t.Errorf("changeText(%v, %v) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestWorkersAreReadAsANumberOrARange(t *testing.T) {
	for _, tt := range []struct {
		text string
		want model.Workers // the zero value: an error
	}{
		{"8..64", model.Workers{Start: 8, Min: 2, Max: 64, Policy: "depth"}},
		{"1..64", model.Workers{Start: 1, Min: 1, Max: 64, Policy: "depth"}},
		{"8", model.Workers{Start: 8, Min: 8, Max: 8, Policy: "depth"}},
		{"64..8", model.Workers{}},
		{"0", model.Workers{}},
		{"8..", model.Workers{}},
		{"many", model.Workers{}},
	} {
		got, err := parseWorkers(tt.text, model.Workers{Min: 2, Policy: "depth"})
		if (err != nil) != (tt.want == model.Workers{}) || err == nil && got != tt.want {
			t.Errorf("parseWorkers(%q) = %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestWhatWasWaitedForNamesAtMostThree(t *testing.T) {
	ws := []model.Wait{{Reason: "rate", Resource: "a", Share: 0.9}, {Reason: "no_workers", Resource: "b", Share: 0.5}, {Reason: "retry", Resource: "a", Share: 0.2}, {Reason: "fair_share", Resource: "a", Share: 0.1}}
	if got, want := waitWords(ws, 2), "rate of a 90%, workers of b 50%, retries 20%"; got != want {
		t.Errorf("two resources: %q, want %q", got, want)
	}
	if got := waitWords(ws[:1], 1); strings.Contains(got, "of a") {
		t.Errorf("one resource: %q names it needlessly", got)
	}
	if got := waitWords([]model.Wait{{Reason: "rate", Share: 0.001}}, 1); got != "nothing" {
		t.Errorf("hardly anything: %q, want nothing", got)
	}
}

func TestWhatIsLeftAtADeadlineIsSaid(t *testing.T) {
	k := model.KindResult{Count: 1, Items: 5000, Done: 3000, Cancelled: 2000, Finish: 30e9, TookP50: 30e9, Each: []model.BulkResult{{}}}
	if got := doneText(k); got != "after 30s, 2,000 left at the deadline" {
		t.Errorf("doneText = %q", got)
	}
	if got := ending(model.Result{End: 60e9, Kinds: []model.KindResult{k, {Items: 10, Done: 3}}}); !strings.Contains(got, "7 items are not finished") {
		t.Errorf("ending = %q: what was cancelled is not open", got)
	}
}

// TestASecondWorldIsRefused: it would be left out without a word.
func TestASecondWorldIsRefused(t *testing.T) {
	if err := config.Decode("two.yaml", []byte("seed: 1\n---\nseed: 2\n"), new(model.World)); err == nil || !strings.Contains(err.Error(), "second document") {
		t.Errorf("%v, want that it has a second document", err)
	}
}
