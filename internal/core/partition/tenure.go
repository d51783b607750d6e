package partition

import (
	"errors"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Tenure records that a node owns the partition, and how that ended. It is written before the
// first task of an owner starts, and again when the owner hands the partition over. An owner
// that finds a tenure that has not ended knows that the one before died, possibly because of a
// task; see risk.go.
type Tenure struct {
	Node  string `json:"node"`
	Ended bool   `json:"ended,omitempty"`
	// AtRisk reports items that may have been in flight when a process died, or whose tasks did
	// not end in time: the next owner marks them, too.
	AtRisk bool `json:"at_risk,omitempty"`
	// Unseen lists bulk actions with actions unknown to this owner, if the owner before it
	// died: its marks on them have yet to be judged.
	Unseen []weir.BulkID `json:"unseen,omitempty"`
}

// tenure is the state of the machine's own record.
type tenure struct {
	stage   tenureStage
	crashed bool                 // the owner before did not hand the partition over
	risky   bool                 // items may have been in flight when a process died
	since   int64                // when the partition was loaded
	unseen  map[weir.BulkID]bool // bulk actions whose marks the owners since a death could not judge
}

type tenureStage uint8

const (
	tenureNone    tenureStage = iota // not recorded: nothing may start
	tenureWriting                    // being recorded, or its end is
	tenureHeld                       // recorded
	tenureEnded                      // its end is recorded
)

func tenureKey() []byte { return []byte{kindTenure} }

// loadTenure reads how the ownership before ended.
func (m *Machine) loadTenure(now int64, rows Rows) error {
	m.tenure.since = now
	var t Tenure
	err := readJSON(rows, tenureKey(), &t)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m.tenure.crashed = m.cfg.Node != "" && !t.Ended && t.Node != m.cfg.Node // a process that finds its own tenure has not died
	m.tenure.risky = m.cfg.Node != "" && (!t.Ended || t.AtRisk)
	m.tenure.unseen = make(map[weir.BulkID]bool, len(t.Unseen))
	for _, id := range t.Unseen {
		m.tenure.unseen[id] = true
	}
	return nil
}

// lost reports whether an owner died and its marks on the bulk action have not been judged yet.
func (t *tenure) lost(id weir.BulkID) bool { return t.crashed || t.unseen[id] }

// unseen lists the bulk actions whose marks this owner could not judge.
func (m *Machine) unseen() (ids []weir.BulkID) {
	for id, b := range m.bulks { // sorted below: the order does not reach the output
		if b.problem != "" && m.tenure.lost(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// beginTenure records the tenure once there is something to run.
func (m *Machine) beginTenure() {
	if m.tenure.stage == tenureNone && len(m.bulks) > 0 && m.cfg.Node != "" {
		m.tenure.stage = tenureWriting
		m.gen.tenure = &Tenure{Node: m.cfg.Node}
	}
}

// mayStart reports whether a crash from now on would be noticed.
func (m *Machine) mayStart() bool { return m.cfg.Node == "" || m.tenure.stage == tenureHeld }

// Close records the end of the tenure, and reports whether that is durable. The owner calls it
// when it has nothing left to do, until it returns true.
func (m *Machine) Close() bool {
	switch m.tenure.stage {
	case tenureHeld:
		m.tenure.stage = tenureWriting
		m.gen.tenure = &Tenure{Node: m.cfg.Node, Ended: true, AtRisk: m.atRisk(), Unseen: m.unseen()}
		return false
	case tenureWriting:
		return false
	default:
		return true
	}
}

// recorded notes that a tenure, or its end, is durable.
func (m *Machine) recorded(t *Tenure) {
	switch {
	case t == nil:
	case t.Ended:
		m.tenure.stage = tenureEnded
	default:
		m.tenure.stage = tenureHeld
	}
}

func (m *Machine) writeTenure(b *store.Batch, g *generation) {
	if g.tenure != nil {
		b.Set = append(b.Set, SealJSON(tenureKey(), g.tenure))
	}
}
