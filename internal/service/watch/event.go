package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// Notice is one event in a bulk action's stream.
type Notice struct {
	// ID is the position from which a stream continues; empty: it cannot continue from this notice.
	ID   string
	Kind string // progress, state, error_group
	Data any
}

// Stream sends the events of a bulk action until it has ended: each change of its state, each new
// error group, and its progress, at most four times a second and only if it changed. Given the id
// of the last notice that the reader received, it continues from there and repeats nothing that is
// unchanged. The last notice has the kind "end".
func (s *Watch) Stream(ctx context.Context, id, last string, tell func(Notice) error) error {
	st := &stream{s: s, bulk: id, tell: tell}
	st.seen, st.known = parseMark(last)
	st.resumed = st.known
	if err := s.Follow(ctx, id, func(p api.Progress) error { return st.next(ctx, &p) }); err != nil {
		return err
	}
	return tell(Notice{ID: id + endMark, Kind: "end", Data: st.state})
}

// endMark follows the bulk action's id in the id of the last notice.
const endMark = ".end"

// StreamEnded reports whether the bulk action has ended and last is the id of the
// last notice of its stream.
func (s *Watch) StreamEnded(ctx context.Context, id, last string) (bool, error) {
	if last != id+endMark {
		return false, nil
	}
	p, err := s.Progress(ctx, id)
	return err == nil && p.State.Final(), err
}

// stream holds what one reader has received.
type stream struct {
	s       *Watch
	bulk    string
	tell    func(Notice) error
	seen    mark
	known   bool // seen is set
	resumed bool // seen comes from an earlier stream: the last state sent is unknown
	state   api.StateChange
	failed  int64 // when the groups were read
}

// mark is a position in a stream. It depends only on what the reader has seen, so any node can
// continue from it.
type mark struct {
	stage  int    // rises from draft to running
	moved  int64  // rises with everything that happens to items
	groups int    // error groups sent
	digest uint32 // of everything shown
}

// String returns the mark as an event's id.
func (m mark) String() string {
	return fmt.Sprintf("%d.%d.%d.%08x", m.stage, m.moved, m.groups, m.digest)
}

func parseMark(id string) (m mark, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 4 {
		return m, false
	}
	stage, err1 := strconv.Atoi(parts[0])
	moved, err2 := strconv.ParseInt(parts[1], 10, 64)
	groups, err3 := strconv.Atoi(parts[2])
	digest, err4 := strconv.ParseUint(parts[3], 16, 32)
	m = mark{stage, moved, groups, uint32(digest)}
	return m, cmp.Or(err1, err2, err3, err4) == nil && groups >= 0
}

// stages orders the states before running; a source is read while importing.
var stages = map[api.State]int{api.Draft: 0, api.Sealed: 1, api.Scheduled: 1, api.Importing: 2}

// markOf returns the position of a progress.
func markOf(p *api.Progress, groups int) mark {
	m := mark{stage: 3, moved: p.Counts.Total + p.Counts.Cancelled, groups: groups}
	if stage, early := stages[p.State]; early {
		m.stage = stage
	}
	for _, st := range p.Steps {
		m.moved += st.Done + st.Failed + st.LeftOut + st.Attempts + st.Refused
	}
	same := *p
	same.Rate, same.ETA = 0, 0 // these change with time alone
	same.At, same.LikelyEnd, same.LikelyEndFrom, same.LikelyEndTo = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	raw, _ := json.Marshal(&same) // plain data
	h := fnv.New32a()
	_, _ = h.Write(raw) // it never fails
	m.digest = h.Sum32()
	return m
}

// next sends what is new in a progress. Only the last notice has an id: a reader that has it has
// all notices before.
func (st *stream) next(ctx context.Context, p *api.Progress) error {
	groups, fresh, err := st.groups(ctx, p)
	if err != nil {
		return err
	}
	now := markOf(p, groups)
	if st.known && now == st.seen {
		if st.resumed {
			st.state, st.resumed = stateOf(p), false
		}
		return nil
	}
	if change := stateOf(p); change != st.state {
		if err := st.tell(Notice{Kind: "state", Data: change}); err != nil {
			return err
		}
		st.state = change
	}
	for _, g := range fresh {
		if err := st.tell(Notice{Kind: "error_group", Data: g}); err != nil {
			return err
		}
	}
	if err := st.tell(Notice{ID: now.String(), Kind: "progress", Data: p}); err != nil {
		return err
	}
	st.seen, st.known, st.resumed = now, true, false
	return nil
}

func stateOf(p *api.Progress) api.StateChange {
	return api.StateChange{State: p.State, Phase: p.Phase, Reason: p.Reason}
}

// groups returns the number of error groups, and those not sent yet, in the order in which they
// appeared.
func (st *stream) groups(ctx context.Context, p *api.Progress) (n int, fresh []api.ErrorGroup, err error) {
	if p.Counts.Failed == st.failed {
		return st.seen.groups, nil, nil
	}
	all, err := st.s.bulks.ErrorGroups(ctx, st.bulk)
	if err != nil {
		return 0, nil, err
	}
	st.failed = p.Counts.Failed
	slices.SortStableFunc(all, func(a, b api.ErrorGroup) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.Step, b.Step), strings.Compare(a.Code, b.Code),
			strings.Compare(a.Message, b.Message))
	})
	return max(len(all), st.seen.groups), all[min(st.seen.groups, len(all)):], nil
}
