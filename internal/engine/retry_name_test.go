package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

func TestARetryHasANameOfItsOwn(t *testing.T) {
	a := each("a", func(b *weir.Batch[int, string], i int, _ weir.Item[int]) { b.Fail(i, "no", errors.New("no")) })
	r := start(t, memory(), engine.Options{}, action(a))
	named := func(name string) *engine.BulkAction {
		b := submit(t, r, job[int]{Chain: weir.Start(a), Spec: weir.Spec{Name: name}}, numbers(4))
		wait(t, b)
		return b
	}
	retry := func(b *engine.BulkAction, o engine.RetryOptions) *engine.BulkAction {
		t.Helper()
		made, err := b.Retry(t.Context(), o)
		must(t, err)
		wait(t, made[0])
		return made[0]
	}
	only := func(no int64) func(*report.Row) bool { return func(x *report.Row) bool { return x.No == no } }
	b := named("spring")
	first := retry(b, engine.RetryOptions{Match: only(0)})
	second := retry(b, engine.RetryOptions{Match: only(1)})
	long := retry(named(strings.Repeat("ü", 64)), engine.RetryOptions{})
	for want, got := range map[string]*engine.BulkAction{
		"spring (retry 1)":   first,
		"spring (retry 2)":   second,
		"spring (retry 1.1)": retry(first, engine.RetryOptions{}),
		"the rest":           retry(b, engine.RetryOptions{Name: "the rest", Match: only(2)}),
		"spring (retry 4)":   retry(b, engine.RetryOptions{}),
		strings.Repeat("ü", 57) + "… (retry 1)": long,
		"a (retry 1)": retry(named(""), engine.RetryOptions{}),
	} {
		if got.Info().Name != want {
			t.Errorf("the retry is called %q, want %q", got.Info().Name, want)
		}
	}
	if _, err := first.Retry(t.Context(), engine.RetryOptions{Name: "a\x00"}); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("a name with a control character: %v", err)
	}
}
