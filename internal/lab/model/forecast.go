package model

import "github.com/weirhq/weir/internal/lab/virtual"

// Forecast is when work would finish, over several seeds: half of the runs are done
// by P50, nine of ten by P90. A run that does not finish counts with its length.
type Forecast struct {
	Runs       int            `json:"runs"`
	Unfinished int            `json:"unfinished"`
	P50        Span           `json:"p50"`
	P90        Span           `json:"p90"`
	Kinds      []KindForecast `json:"bulk_actions"`
	// First is the first of the runs.
	First Result `json:"-"`
}

// KindForecast is the same for one entry of the world's bulk actions: when one is
// done, or for a stream how long 99 of 100 take at most.
type KindForecast struct {
	Name string `json:"name"`
	P50  Span   `json:"p50"`
	P90  Span   `json:"p90"`
}

// Foresee plays a world with so many seeds, from its own on.
func Foresee(w World, runs int) (Forecast, error) { return ForeseeUntil(w, runs, nil) }

// ForeseeUntil is [Foresee] that ends early when enough says so; see [RunUntil].
// The first run counts also if it was left; another that was does not.
func ForeseeUntil(w World, runs int, enough func(at Span) bool) (Forecast, error) {
	w = w.withDefaults()
	out := Forecast{Kinds: make([]KindForecast, len(w.BulkActions))}
	ends, kinds := make([]Span, 0, runs), make([][]Span, len(w.BulkActions))
	left := false
	ask := func(at Span) bool { left = left || enough != nil && enough(at); return left }
	for i := range runs {
		next := w
		next.Seed = w.Seed + uint64(i)
		r, err := RunUntil(next, ask)
		if err != nil {
			return out, err
		}
		if left && i > 0 {
			break
		}
		if out.Runs++; i == 0 {
			out.First = r
		}
		ends = append(ends, r.End)
		if !r.Finished {
			out.Unfinished++
		}
		for j, k := range r.Kinds {
			out.Kinds[j].Name = k.Name
			kinds[j] = append(kinds[j], k.lasts(r.End))
		}
		if left {
			break
		}
	}
	out.P50, out.P90 = virtual.Quantile(ends, 0.5), virtual.Quantile(ends, 0.9)
	for j, spans := range kinds {
		out.Kinds[j].P50, out.Kinds[j].P90 = virtual.Quantile(spans, 0.5), virtual.Quantile(spans, 0.9)
	}
	return out, nil
}

// lasts returns how long a kind takes in a run that ended at end.
func (k KindResult) lasts(end Span) Span {
	switch {
	case k.Count == 1 && k.Open == 1:
		return end - k.Each[0].At
	case k.Count == 1:
		return k.TookP50
	}
	return k.TookP99
}
