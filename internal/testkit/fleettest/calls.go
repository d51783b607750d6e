package fleettest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

// Calls is the downstream's log: one entry for every item of every call.
type Calls []recorder.Entry

// Busiest returns the most items that were called for within any second: by the times at which
// nodes took the calls up, which is what they control, and by those at which they made them.
// All nodes share this machine's clock.
func (c Calls) Busiest() (planned, sent int) {
	return busiest(c.times(func(e *recorder.Entry) int64 { return e.Planned }), time.Second),
		busiest(c.times(func(e *recorder.Entry) int64 { return e.Sent }), time.Second)
}

// Between returns the calls that were made between two times.
func (c Calls) Between(from, to time.Time) (some Calls) {
	for i := range c {
		if at := c[i].Sent; at >= from.UnixNano() && at < to.UnixNano() {
			some = append(some, c[i])
		}
	}
	return some
}

// busiest returns the most of some sorted times that are within a window.
func busiest(at []int64, window time.Duration) (most int) {
	for first, last := 0, 0; last < len(at); last++ {
		for at[last]-at[first] >= int64(window) {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// Rate returns the items per second that were called for between two times.
func (c Calls) Rate(from, to time.Time) float64 {
	return float64(len(c.Between(from, to))) / to.Sub(from).Seconds()
}

// Seconds returns how many items each life called for in each second between two times.
func (c Calls) Seconds(from, to time.Time) (by map[int][]int) {
	by = map[int][]int{}
	for _, e := range c.Between(from, to) {
		if by[e.Life] == nil {
			by[e.Life] = make([]int, int(to.Sub(from)/time.Second)+1)
		}
		by[e.Life][(e.Sent-from.UnixNano())/int64(time.Second)]++
	}
	return by
}

// Silence returns the longest time without any call.
func (c Calls) Silence() (longest time.Duration) {
	at := c.times(received)
	for i := 1; i < len(at); i++ {
		longest = max(longest, time.Duration(at[i]-at[i-1]))
	}
	return longest
}

// Gap is a pause of one partition.
type Gap struct {
	Partition int
	Long      time.Duration
	From      time.Time
}

// String returns a short description.
func (g Gap) String() string {
	return fmt.Sprintf("%v of partition %d from %s", g.Long.Round(time.Millisecond), g.Partition, g.From.Format("05.000"))
}

// Gaps returns the longest pause of each partition, the longest first. Only times count in
// which one of its bulk actions had begun and had items that had never been called for: waiting
// for a retry does not count as a pause.
func (c Calls) Gaps() (gaps []Gap) {
	for p, calls := range c.partitions() {
		work := map[string]*span{} // by bulk action
		for i := range calls {
			e := &calls[i]
			if work[e.Bulk] == nil {
				work[e.Bulk] = &span{e.Received, e.Received}
			}
			work[e.Bulk].add(e)
		}
		at := calls.times(received)
		g := Gap{Partition: p}
		for i := 1; i < len(at); i++ {
			if d := time.Duration(at[i] - at[i-1]); d > g.Long && covered(work, at[i-1], at[i]) {
				g.Long, g.From = d, time.Unix(0, at[i-1])
			}
		}
		gaps = append(gaps, g)
	}
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(b.Long, a.Long) })
	return gaps
}

// span is the time from the first call of a bulk action to the last one for new items.
type span struct{ first, fresh int64 }

func (s *span) add(e *recorder.Entry) {
	s.first = min(s.first, e.Received)
	if e.Attempt == 1 && e.Step == recorder.Award {
		s.fresh = max(s.fresh, e.Received)
	}
}

func covered(spans map[string]*span, from, to int64) bool {
	for _, s := range spans {
		if s.first <= from && s.fresh >= to {
			return true
		}
	}
	return false
}

// partitionOf returns the partition in the id of a bulk action, -1 if it has none: the 16 bits
// after the time, which takes ten characters of five bits.
func partitionOf(bulk string) int {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	raw, ok := strings.CutPrefix(bulk, "ba_")
	if !ok || len(raw) != 26 {
		return -1
	}
	bits := 0
	for _, c := range raw[10:14] {
		bits = bits<<5 | strings.IndexRune(digits, c)
	}
	return bits >> 4
}

// partitions returns the calls by partition.
func (c Calls) partitions() map[int]Calls {
	all := map[int]Calls{}
	for i := range c {
		p := partitionOf(c[i].Bulk)
		all[p] = append(all[p], c[i])
	}
	return all
}

// Resumed returns how long the work of a life stood still after it ended, until others
// continued it: the longest over its partitions. ok is false if there was none.
func (c Calls) Resumed(life int, ended time.Time) (longest time.Duration, ok bool) {
	const justNow = 200 * time.Millisecond
	had, next := map[int]bool{}, map[int]int64{}
	for i := range c {
		e, p := &c[i], partitionOf(c[i].Bulk)
		switch at := e.Received - ended.UnixNano(); {
		case e.Life == life:
			had[p] = had[p] || at > -int64(justNow)
		case at > 0 && (next[p] == 0 || e.Received < next[p]):
			next[p] = e.Received
		}
	}
	for p := range had {
		if had[p] && next[p] != 0 {
			longest, ok = max(longest, time.Duration(next[p]-ended.UnixNano())), true
		}
	}
	return longest, ok
}

// First returns how long after a time a life made its first call; ok is false if it made none.
func (c Calls) First(life int, since time.Time) (after time.Duration, ok bool) {
	for i := range c {
		d := time.Duration(c[i].Sent - since.UnixNano())
		if c[i].Life == life && d >= 0 && (!ok || d < after) {
			after, ok = d, true
		}
	}
	return after, ok
}

// Lives returns how many items each life called for.
func (c Calls) Lives() map[int]int {
	n := map[int]int{}
	for i := range c {
		n[c[i].Life]++
	}
	return n
}

func received(e *recorder.Entry) int64 { return e.Received }

// times returns a time of every call, sorted.
func (c Calls) times(of func(*recorder.Entry) int64) []int64 {
	at := make([]int64, len(c))
	for i := range c {
		at[i] = of(&c[i])
	}
	slices.Sort(at)
	return at
}
