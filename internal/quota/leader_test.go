package quota

// leader sets targets every 250 ms.
type leader struct {
	w     *world
	plan  *Planner
	epoch uint64
	wrote int64
	dead  bool
}

func (w *world) elect() {
	var epoch uint64 = 1
	if w.lead != nil {
		epoch = w.lead.epoch + 1
	}
	w.lead = &leader{w: w, plan: NewPlanner(w.limit, w.chunk), epoch: epoch}
	w.lead.cycle()
}

func (l *leader) cycle() {
	w := l.w
	if l.dead {
		return
	}
	w.call(func() func() {
		hs := w.table.Holdings(w.now)
		return func() {
			targets, changed := l.plan.Plan(w.now, w.members(), hs)
			if !l.dead && (changed || w.now-l.wrote > sec) {
				l.wrote = w.now
				w.call(func() func() { _ = w.table.SetTargets(l.epoch, targets); return func() {} })
			}
		}
	})
	w.at(w.now+250*ms, l.cycle)
}

func (w *world) members() (names []string) {
	for _, n := range w.nodes {
		if !n.dead {
			names = append(names, n.keeper.node)
		}
	}
	return names
}

// failOver replaces the books by empty ones that learn.
func (w *world) failOver() {
	w.table = New(w.limit)
	w.table.Learn(w.now + int64(w.ttl+w.limit.Window))
}
