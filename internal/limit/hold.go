package limit

// Flow control holds a resource below its limits: it bounds the tasks in flight,
// paces the starts, and lets nothing start at all. What it decides, and why, is
// not this package's business.

// SetBearable bounds the tasks in flight on r by what its downstream was found to
// bear; 0 means no bound. It counts beside the configured concurrency.
func (p *Pool) SetBearable(now int64, r *PoolResource, n int) {
	r.bearable = boundOf(n)
	p.settle(now, true)
}

// SetPace spreads the starts on r at a rate below its own; 0 goes back. See [Limiter.SetPace].
func (p *Pool) SetPace(now int64, r *PoolResource, rate float64) {
	if rate == r.lim.Pace() {
		return
	}
	r.lim.SetPace(now, rate)
	p.wakeAll(now, r)
}

// Hold refuses a task that the lane asks for, because nothing may start on its
// resource before a time, or with [Never] before somebody calls [Pool.Stir].
func (p *Pool) Hold(now int64, l *Lane, cost int, express bool, at int64) int64 {
	p.ask(now, l)
	return p.refuse(now, l, cost, express, at, CauseCircuit)
}

// Stir makes every lane that waits for r ask again.
func (p *Pool) Stir(now int64, r *PoolResource) { p.wakeAll(now, r) }

// Rate returns the rate at which r starts items, 0 for unlimited: the slower of
// limit, or quota, and pace.
func (r *PoolResource) Rate() float64 {
	rate, pace := r.lim.Rate(), r.lim.Pace()
	if pace > 0 && (rate == 0 || pace < rate) {
		return pace
	}
	return rate
}

// Limit returns the rate of r, or where it is shared the quota of this node; 0: unlimited.
func (r *PoolResource) Limit() float64 { return r.lim.Rate() }

// Used returns the items that started inside the window that ends now, without permits.
func (r *PoolResource) Used(now int64) int64 {
	if r.lim.Rate() == 0 {
		return 0
	}
	return r.lim.Used(now)
}
