package partition

import "time"

// rateMemory is how far back a bulk action's rate looks, and rateEvery is the
// least time between two looks.
const (
	rateMemory = 5 * time.Second
	rateEvery  = int64(200 * time.Millisecond)
)

// Lately is how many items of a bulk action ended per second lately, as of a commit.
type Lately struct {
	Rate  float64 `json:"rate"`
	At    int64   `json:"at"`
	Ended int64   `json:"ended"` // items, then
}

// note takes into account how many items have ended.
func (l *Lately) note(now, ended int64) {
	took := now - l.At
	switch {
	case l.At == 0:
		*l = Lately{At: now, Ended: ended}
		return
	case took < rateEvery:
		return
	}
	rate, weight := float64(ended-l.Ended)/(float64(took)/1e9), min(1, float64(took)/float64(rateMemory))
	if l.Rate == 0 {
		weight = 1
	}
	*l = Lately{Rate: l.Rate + (rate-l.Rate)*weight, At: now, Ended: ended}
}

// Now returns the rate as of now. It falls while nothing ends.
func (l *Lately) Now(now int64) float64 {
	if took := now - l.At; took > int64(rateMemory) {
		return l.Rate * float64(rateMemory) / float64(took)
	}
	return l.Rate
}
