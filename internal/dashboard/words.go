package dashboard

import (
	"crypto/rand"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// functions are what templates can call.
var functions = template.FuncMap{
	"count": format.Count, "items": format.Items, "share": format.Share, "percent": format.Percent, "rate": format.Rate, "speed": format.Speed,
	"sign": signOf, "plainly": plainly, "others": otherValues, "dict": dict, "plural": format.Plural, "random": rand.Text, "join": strings.Join, "sentence": sentence, "stop": format.Stop,
	"undoSign": undoSign, "undoWords": undoWords,
	"itemSign": itemSign, "triedSign": triedSign, "int64": func(n int) int64 { return int64(n) }, "duration": func(d api.Duration) string { return format.Duration(time.Duration(d)) },
}

// sign is how a state is shown: a sign, a word and a colour, always all three.
type sign struct{ Icon, Word, Class string }

var signs = map[api.State]sign{
	api.Draft:      {"draft", "Draft", "cancelled"},
	api.Importing:  {"running", "Reading its source", "running"},
	api.Sealed:     {"draft", "Not started", "cancelled"},
	api.Scheduled:  {"scheduled", "Scheduled", "cancelled"},
	api.Running:    {"running", "Running", "running"},
	api.Awaiting:   {"approve", "Awaiting approval", "waiting"},
	api.Paused:     {"paused", "Paused", "paused"},
	api.Stopped:    {"stopped", "Stopped by a rule", "failed"},
	api.Cancelling: {"cancelled", "Being cancelled", "cancelled"},
	api.Cancelled:  {"cancelled", "Cancelled", "cancelled"},
	api.Completed:  {"done", "Completed", "done"},
	api.Failed:     {"failed", "Failed", "failed"},
}

func signOf(s api.State) sign {
	if x, ok := signs[s]; ok {
		return x
	}
	return sign{"draft", string(s), "cancelled"}
}

// undoSign is how it is shown that a bulk action was undone, beside its state.
func undoSign(u *api.Undone) sign {
	switch {
	case u != nil && u.State != "" && !u.State.Final():
		return sign{"undo", "Being undone", "running"}
	case u != nil && u.Done < u.Items:
		return sign{"undo", "Partly undone", "failed"}
	}
	return sign{"undo", "Undone", "cancelled"}
}

// undoWords says how far an undo has come.
func undoWords(u *api.Undone) string {
	if u == nil || u.State == "" {
		return ""
	}
	words := format.Count(u.Done) + " of " + format.Items(u.Items)
	if u.Failed > 0 {
		words += ", " + format.Count(u.Failed) + " failed"
	}
	return words
}

// finished counts the items that have ended.
func finished(c api.Counts) int64 { return c.Done + c.Failed + c.Cancelled }

// progressed counts the items that have come to an end by themselves, where a cancel ended the others; else all that have ended.
func progressed(b *api.BulkAction) int64 {
	if b.State == api.Cancelled || b.State == api.Cancelling {
		return b.Counts.Done + b.Counts.Failed
	}
	return finished(b.Counts)
}

// neverProcessed counts the items that a cancel, a deadline or a rule ended. They are no part of a speed; items that a
// step left out are.
func neverProcessed(c api.Counts, steps []api.StepProgress) int64 {
	n := c.Cancelled
	for i := range steps {
		n -= steps[i].LeftOut
	}
	return max(n, 0)
}

// addsUp says whether every item is counted once.
func addsUp(c api.Counts) string {
	sum := finished(c) + c.InFlight + c.Waiting + c.Ready
	switch {
	case sum == c.Total:
		return ""
	case sum < c.Total:
		return fmt.Sprintf("Does not add up: %s missing", format.Items(c.Total-sum))
	}
	return fmt.Sprintf("Does not add up: %s too many", format.Items(sum-c.Total))
}

// dict makes the map that a part of a page takes as its data, from names and values in turn.
func dict(of ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(of); i += 2 {
		m[of[i].(string)] = of[i+1]
	}
	return m
}
