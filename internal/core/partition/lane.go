package partition

import (
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/store"
)

// The commands to a lane.
const (
	ScaleUp   = "SCALE_UP"
	ScaleDown = "SCALE_DOWN"
)

// Scale sets the number of workers of a lane. Repeating one has no further effect, and one of
// an earlier leader is refused.
type Scale struct {
	Type    string `json:"type"` // SCALE_UP or SCALE_DOWN, for display
	Lane    string `json:"lane"` // the resource
	Workers int    `json:"targetWorkers"`
	Reason  string `json:"reason"`
	Epoch   uint64 `json:"epoch"` // of the leader's lease
	At      int64  `json:"at"`    // when it was decided
}

// lane is one resource inside this partition.
type lane struct {
	resource *capacity.Resource
	limits   weir.Resource
	turns    turns
	size     limit.Size // determines the size of tasks
	batch    int        // the largest batch of its steps
	chunk    int        // the most items of a task for that batch
	ready    int64      // items
	waiting  int64      // items with a due time
	counts   laneCounts
	healthy  int64        // when a task last ended with answers for its items
	well     int64        // when the newest task started that the downstream completed
	halves   []*retryTask // that wait for the resource to recover
}

// lanes holds the lane state that the queue does not have.
type lanes struct {
	by   map[string]*lane  // by resource
	told map[string]*Scale // the last command that each lane applied, as stored
	all  []*lane           // in order of creation
}

// laneOf returns the lane of a step, and adds it if it is missing.
func (m *Machine) laneOf(now int64, def *weir.Step) *lane {
	l := m.lane(now, def.Resource)
	if def.Remote && !m.answered[def.Action] {
		m.queue.Probe(l.resource)
	}
	return l
}

// lane returns the lane of a resource, and adds it if it is missing.
func (m *Machine) lane(now int64, r weir.Resource) *lane {
	if have := m.lanes.by[r.Name]; have != nil {
		return have
	}
	made := &lane{resource: m.queue.Resource(r), limits: r}
	made.setSize(m.queue.Size(made.resource))
	m.lanes.by[r.Name] = made
	m.lanes.all = append(m.lanes.all, made)
	m.queue.SetWorkers(now, made.resource, m.workers(r.Name))
	return made
}

// laneCounts counts the work of a lane since the last Observe.
type laneCounts struct {
	arrived                float64 // tasks that became ready, without those of large bulk actions
	started                int
	sent                   int64 // items of the tasks that started
	ended, failed, refused int
	took                   int64 // time for which the ended tasks held a worker
	answers                laneAnswers
}

// laneAnswers counts the items answered by calls that did not fail as a whole: all of them,
// those to be tried again, and those that ended with another outcome than done.
type laneAnswers struct{ items, again, gone int64 }

func (a *laneAnswers) note(o *weir.Outcome) {
	if o.Uncalled || o.Kind == weir.OutcomeRefused {
		return
	}
	a.items++
	switch o.Kind {
	case weir.OutcomeDone:
	case weir.OutcomeFailed, weir.OutcomeLeftOut:
		a.gone++
	default:
		a.again++
	}
}

// scale applies a command to a lane.
func (m *Machine) scale(now int64, s *Scale) {
	have := m.lanes.told[s.Lane]
	stale := have != nil && (s.Epoch < have.Epoch || s.Epoch == have.Epoch && s.At < have.At)
	if stale {
		return
	}
	m.lanes.told[s.Lane] = s
	m.gen.scaled = append(m.gen.scaled, s.Lane)
	if r := m.lanes.by[s.Lane]; r != nil {
		m.queue.SetWorkers(now, r.resource, s.Workers)
		m.widen()
	}
}

// workers returns the number of workers of a lane; below 0: no bound.
func (m *Machine) workers(lane string) int {
	if s := m.lanes.told[lane]; s != nil {
		return s.Workers
	}
	if m.cfg.Workers > 0 {
		return m.cfg.Workers
	}
	return -1
}

func (m *Machine) writeLanes(b *store.Batch, g *generation) {
	for _, lane := range g.scaled {
		b.Set = append(b.Set, SealJSON(laneKey(lane), m.lanes.told[lane]))
	}
}

func (m *Machine) loadLanes(rows Rows) error {
	return rows.Scan([]byte{kindLane}, func(key, row []byte) error {
		s := &Scale{}
		if err := UnsealJSON(key, row, s); err != nil {
			return err
		}
		m.lanes.told[s.Lane] = s
		return nil
	})
}

// ReadWorkers returns the last command that a lane applied, as stored; nil: none.
func ReadWorkers(rows Rows, lane string) (*Scale, error) {
	key := laneKey(lane)
	row, err := rows.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Scale{}
	return s, UnsealJSON(key, row, s)
}

// LaneLoad describes the work of one lane since the last Observe.
type LaneLoad struct {
	sched.Load
	Resource string
	// Workers is the bound on the tasks in flight; below 0: none.
	Workers int
	// Chunk is the largest number of items in a task.
	Chunk int
	// Ready is the number of items that could run apart from limits, pauses and caps; Waiting
	// is the number that wait for their next attempt.
	Ready, Waiting int64
	// Spare is the number of items that other partitions could take.
	Spare int64
	// Arrived is the number of tasks that became ready, without those of large bulk actions,
	// which are a backlog and not a stream. Started, Ended, Failed and Refused count tasks too;
	// a failed one blames the resource, not its items. Sent is the number of items in the tasks
	// that started.
	Arrived                         float64
	Started, Ended, Failed, Refused int
	Sent                            int64
	// Took is the time for which the ended tasks held a worker, in nanoseconds.
	Took int64
	// Items counts the items answered by calls that did not fail as a whole; Again those of
	// them to be tried again, and Gone those that ended with another outcome than done.
	Items, Again, Gone int64
}

// Observe appends the work of each lane since the last Observe.
func (m *Machine) Observe(now int64, dst []LaneLoad) []LaneLoad {
	spare := m.spare(now)
	for _, r := range m.lanes.all {
		c := r.counts
		r.counts = laneCounts{}
		dst = append(dst, LaneLoad{
			Load: m.queue.Observe(now, r.resource), Resource: r.limits.Name, Workers: m.workers(r.limits.Name), Chunk: max(r.chunk, 1),
			Ready: r.ready, Waiting: r.waiting, Spare: spare[r],
			Arrived: c.arrived, Started: c.started, Sent: c.sent, Ended: c.ended, Failed: c.failed, Refused: c.refused, Took: c.took,
			Items: c.answers.items, Again: c.answers.again, Gone: c.answers.gone,
		})
	}
	return dst
}

// arrived counts n items that became ready at a step.
func (s *step) arrived(n int64) {
	s.lane.counts.arrived += float64((n + int64(s.chunk) - 1) / int64(s.chunk))
}

// note counts a task that ended. A task whose items were all refused has failed as well.
func (c *laneCounts) note(now int64, t *Task, x *capacity.Ending) {
	c.ended++
	c.took += now - t.started
	refused := x.Refused == len(t.Items)
	if refused {
		c.refused++
	}
	if refused || x.Failed {
		c.failed++
	}
}
