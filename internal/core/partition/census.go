package partition

import "github.com/weirhq/weir"

// Held describes a bulk action that has not ended.
type Held struct {
	ID     weir.BulkID
	Tenant string
	State  weir.BulkState
	// Away: this is a shard; the bulk action's home counts its items.
	Away bool
	// Counts are as of the last commit that was cut; InFlight and Waiting are of this
	// partition.
	Counts            weir.Counts
	Steps             []weir.StepCounts // read-only, and valid only during the call
	InFlight, Waiting int64
	// Waits is why it moves no faster; empty: nothing blocks it.
	Waits   string
	Started int64
}

// Census calls yield with every bulk action that has not ended, in no particular order.
func (m *Machine) Census(yield func(*Held)) {
	var h Held
	for _, b := range m.bulks { // the caller adds up: order does not reach the output
		h = Held{
			ID: b.spec.ID, Tenant: b.spec.Tenant, State: b.state, Away: b.away(), Counts: b.status.Counts(b.spec.Items),
			Steps:    b.status.Steps,
			InFlight: b.inFlight, Waiting: b.waiting, Started: b.status.Started,
		}
		if words := m.causes(b); len(words) > 0 {
			h.Waits = words[0]
		}
		yield(&h)
	}
}

// Actions returns the actions of a bulk action's steps; nil if they are not known here.
func (m *Machine) Actions(id weir.BulkID) (names []string) {
	b := m.bulks[id]
	if b == nil {
		return nil
	}
	for _, s := range b.steps {
		names = append(names, s.def.Action)
	}
	return names
}

// Resources returns the resources of a bulk action's steps; nil if they are not known here.
func (m *Machine) Resources(id weir.BulkID) (names []string) {
	b := m.bulks[id]
	if b == nil {
		return nil
	}
	for _, s := range b.steps {
		names = append(names, s.def.Resource.Name)
	}
	return names
}

// Bound returns the lowest rate, of the bulk action or of a resource, that a step of it has; 0: none has one.
func (m *Machine) Bound(id weir.BulkID) (least float64) {
	b := m.bulks[id]
	if b == nil {
		return 0
	}
	for _, s := range b.steps {
		for _, rate := range []float64{b.spec.Rates[s.def.Name], float64(s.def.Resource.Rate)} {
			if rate > 0 && (least == 0 || rate < least) {
				least = rate
			}
		}
	}
	return least
}

// Has reports whether a bulk action is here and has not ended.
func (m *Machine) Has(id weir.BulkID) bool { return m.bulks[id] != nil }

// Uncommitted returns the number of items whose results no confirmed commit carries.
func (m *Machine) Uncommitted() int { return m.uncommitted }
