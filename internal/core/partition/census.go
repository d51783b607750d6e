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
	Tier    weir.Tier
	// Called: a call of it has begun, or items of it have ended.
	Called bool
	// Barred: its first call may not begin, however much capacity is free.
	Barred bool
	// Rate and Concurrency are the lowest that it or a resource of its steps has; 0: none has one.
	Rate        float64
	Concurrency int
}

// Census calls yield with every bulk action that has not ended, in no particular order.
func (m *Machine) Census(yield func(*Held)) {
	var h Held
	for _, b := range m.bulks { // the caller adds up: order does not reach the output
		h = Held{
			ID: b.spec.ID, Tenant: b.spec.Tenant, State: b.state, Away: b.away(), Counts: b.status.Counts(b.spec.Items),
			Steps:    b.status.Steps,
			InFlight: b.inFlight, Waiting: b.waiting, Started: b.status.Started, Tier: b.spec.Tier,
			Rate: b.lowestRate(), Concurrency: b.lowestConcurrency(), Called: b.called(),
		}
		h.Barred = !h.Called && m.barred(b)
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

// Bounds returns the lowest rate and concurrency, of the bulk action or of a resource, that a step of it has; 0: none
// has one.
func (m *Machine) Bounds(id weir.BulkID) (rate float64, concurrency int) {
	if b := m.bulks[id]; b != nil {
		return b.lowestRate(), b.lowestConcurrency()
	}
	return 0, 0
}

// lowestRate returns the lowest rate that the bulk action or a resource of a step of it has; 0: none has one.
func (b *bulk) lowestRate() (least float64) {
	for _, s := range b.steps {
		for _, rate := range [...]float64{b.spec.Rates[s.def.Name], float64(s.def.Resource.Rate)} {
			if rate > 0 && (least == 0 || rate < least) {
				least = rate
			}
		}
	}
	return least
}

// lowestConcurrency returns the lowest concurrency that the bulk action or a resource of a step of it has; 0: none has one.
func (b *bulk) lowestConcurrency() int {
	least := b.spec.Concurrency
	for _, s := range b.steps {
		if c := s.def.Resource.Concurrency; c > 0 && (least == 0 || c < least) {
			least = c
		}
	}
	return least
}

// called reports whether a call of the bulk action has begun, or items of it have ended.
func (b *bulk) called() bool {
	if inFlight, waiting := b.standing(); inFlight > 0 || waiting > 0 || b.ended() > 0 {
		return true
	}
	for i := range b.status.Steps {
		if b.status.Steps[i].Attempts > 0 {
			return true
		}
	}
	return false
}

// barred reports whether the next call of a bulk action may not begin, however much capacity is free.
func (m *Machine) barred(b *bulk) bool {
	if b.state != weir.BulkRunning || b.problem != "" {
		return true
	}
	for _, s := range b.steps {
		if s.head() != 0 {
			return m.queue.Cause(s.entry).Bars()
		}
	}
	return false
}

// Has reports whether a bulk action is here and has not ended.
func (m *Machine) Has(id weir.BulkID) bool { return m.bulks[id] != nil }

// Uncommitted returns the number of items whose results no confirmed commit carries.
func (m *Machine) Uncommitted() int { return m.uncommitted }
