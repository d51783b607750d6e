package partition

import "time"

// rateMemory is the memory of a bulk action's rate, and rateEvery the least time between two
// samples.
const (
	rateMemory = 5 * time.Second
	rateEvery  = int64(200 * time.Millisecond)
)

// Lately measures how many items of a bulk action ended per second lately, as of a commit.
type Lately struct {
	Rate  float64 `json:"rate"`
	At    int64   `json:"at"`
	Ended int64   `json:"ended"` // items, then
	Since int64   `json:"since,omitempty"`
}

// Note adds a sample: the number of items ended so far. The first samples count by their
// length, so that a burst or a gap at the start does not distort the rate.
func (l *Lately) Note(now, ended int64) {
	took := now - l.At
	switch {
	case l.At == 0:
		*l = Lately{At: now, Ended: ended, Since: now}
		return
	case took < rateEvery:
		return
	case l.Rate == 0:
		l.Since = l.At
	}
	rate, weight := float64(ended-l.Ended)/(float64(took)/1e9), min(1, float64(took)/float64(min(int64(rateMemory), now-l.Since)))
	*l = Lately{Rate: l.Rate + (rate-l.Rate)*weight, At: now, Ended: ended, Since: l.Since}
}

// GoOn excludes the time since the last Note from the rate.
func (l *Lately) GoOn(now int64) {
	if l.At != 0 {
		l.At, l.Since = now, now-(l.At-l.Since)
	}
}

// Now returns the rate as of now. It falls while nothing ends.
func (l *Lately) Now(now int64) float64 {
	if took := now - l.At; took > int64(rateMemory) {
		return l.Rate * float64(rateMemory) / float64(took)
	}
	return l.Rate
}
