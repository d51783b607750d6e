package partition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestARepeatedCommandDoesNotUndoWhatOthersDidSince(t *testing.T) {
	again := func(c Command) Command {
		c.Again = true
		return c
	}
	at := func(sent int64, v Verb) Command { return Command{ID: "ba_x", Verb: v, Sent: sent} }
	rules := func(sent int64, r weir.Rules) Command {
		return Command{ID: "ba_x", Verb: Change, Sent: sent, Rules: &r}
	}
	seven, eight, low, rate := 7, 8, weir.TierLow, map[string]weir.Rate{"a": 5}
	held := func(c Command) Command { c.At = 1_900_000_000e9; return c }
	for _, tt := range []struct {
		name     string
		hold     bool
		commands []Command
		want     string
	}{
		{"paused, resumed, paused again", false, []Command{at(1, Pause), at(2, Resume), again(at(1, Pause))}, "running"},
		{"resumed, paused, resumed again", false, []Command{at(1, Pause), at(2, Resume), at(3, Pause), again(at(2, Resume))}, "paused"},
		{"both lost and repeated in order", false, []Command{again(at(1, Pause)), again(at(2, Resume))}, "running"},
		{"both lost and repeated in reverse", false, []Command{again(at(2, Resume)), again(at(1, Pause))}, "running"},
		{"the newer one lost", false, []Command{at(1, Resume), again(at(2, Pause))}, "paused"},
		{"the sender's clock is ahead", false, []Command{at(9, Pause), at(2, Resume), again(at(9, Pause))}, "running"},
		{"scheduled, held, scheduled again", true, []Command{held(at(1, Start)), at(2, Unset), again(held(at(1, Start)))}, "sealed"},
		{"held, scheduled, held again", true, []Command{held(at(1, Start)), at(2, Unset), held(at(3, Start)), again(at(2, Unset))}, "scheduled"},
		{
			"rules changed twice, the first again", false,
			[]Command{
				rules(1, weir.Rules{Concurrency: &seven, Tier: &low}), rules(2, weir.Rules{Concurrency: &eight}),
				again(rules(1, weir.Rules{Concurrency: &seven, Tier: &low})),
			},
			"running concurrency 8 low changes 2",
		},
		{
			"rules changed twice, the first lost", false,
			[]Command{rules(2, weir.Rules{Concurrency: &eight}), again(rules(1, weir.Rules{Concurrency: &seven, Tier: &low, Rates: rate}))},
			"running concurrency 8 low map[a:5] changes 2",
		},
		{
			"a rate taken away, set again", false,
			[]Command{rules(1, weir.Rules{Rates: rate}), rules(2, weir.Rules{Rates: map[string]weir.Rate{"a": 0}}), again(rules(1, weir.Rules{Rates: rate}))},
			"running changes 2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.chains["c"] = steps(1, 2)
			c := tried(false)
			c.Canary, c.Hold = nil, tt.hold
			b.message(envelope{Created: c})
			b.settle()
			for _, c := range tt.commands {
				b.message(envelope{Command: &c})
				b.settle()
				b.reload()
			}
			b.settle()
			spec, status, err := ReadStatus(b.rows, "ba_x")
			if err != nil {
				t.Fatal(err)
			}
			got := []string{status.State.String()}
			if spec.Concurrency != 0 {
				got = append(got, fmt.Sprintf("concurrency %d %v", spec.Concurrency, spec.Tier))
			}
			if len(spec.Rates) > 0 {
				got = append(got, fmt.Sprint(spec.Rates))
			}
			if spec.Rules > 0 {
				got = append(got, fmt.Sprintf("changes %d", spec.Rules))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("it ends %q, want %q", got, tt.want)
			}
		})
	}
}
