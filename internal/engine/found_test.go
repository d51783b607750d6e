package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

func TestAFoundItemOfARetryIsItsRow(t *testing.T) {
	one := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { b.Done(i, "reward-"+it.ID) })
	two := relay("message", func(b *weir.Batch[string, string], i int, _ weir.Item[string]) { b.Fail(i, "no", errors.New("no")) })
	c := weir.Then(weir.Start(one), two, joined).Named("campaign")
	r := start(t, memory(), engine.Options{}, chain(c))
	b := submit(t, r, job[int]{Chain: c}, numbers(20))
	wait(t, b)
	made, err := b.Retry(t.Context(), engine.RetryOptions{Match: func(x *report.Row) bool { return x.No >= 10 }})
	must(t, err)
	wait(t, made[0])
	for _, x := range read(t, made[0], engine.RowOptions{}) {
		f, err := made[0].Item(t.Context(), x.No)
		if err != nil || fmt.Sprintf("%+v", f.Row) != fmt.Sprintf("%+v", x) {
			t.Errorf("found %+v, %v; want the row %+v", f.Row, err, x)
		}
		if string(f.Row.Output) != `"reward-`+x.ID+`"` || f.Row.KeyNo != f.No+10 {
			t.Errorf("found %s with key number %d, want the carried answer and %d", f.Row.Output, f.Row.KeyNo, f.No+10)
		}
	}
}
