package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// LimitOptions configures [NewLimits]. The zero value is ready for production.
type LimitOptions struct {
	// Rate is how many requests a second one key may make. Default 100.
	Rate int
	// Burst is how many it may make at once after a rest. Default twice Rate.
	Burst int
	// Uploads is how many uploads of one key may run at once. Default 8.
	Uploads int
}

func (o LimitOptions) withDefaults() LimitOptions {
	if o.Rate <= 0 {
		o.Rate = 100
	}
	if o.Burst <= 0 {
		o.Burst = 2 * o.Rate
	}
	if o.Uploads <= 0 {
		o.Uploads = 8
	}
	return o
}

// sweepAt is the number of keys at which idle ones are dropped.
const sweepAt = 4096

// Limits bounds a key's use of a node, so that it leaves room for others. It may be used by many
// goroutines.
type Limits struct {
	opts  LimitOptions
	mu    sync.Mutex
	users map[string]*user // by key id
	sweep int              // size at which to look for idle keys
}

type user struct {
	requests *rate.Limiter
	uploads  int
}

// NewLimits returns limits with full allowances.
func NewLimits(o LimitOptions) *Limits {
	return &Limits{opts: o.withDefaults(), users: map[string]*user{}, sweep: sweepAt}
}

// Allowance is what a key has left, for the headers of a response.
type Allowance struct {
	Limit     int           // requests a second
	Remaining int           // allowed now
	Full      time.Duration // until the full burst is available again
}

// Request counts a request of a key, or returns a *[LimitError].
func (l *Limits) Request(keyID string) (Allowance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, u := time.Now(), l.user(keyID)
	granted := u.requests.AllowN(now, 1)
	left := u.requests.TokensAt(now)
	q := Allowance{
		Limit: l.opts.Rate, Remaining: max(0, int(left)),
		Full: time.Duration((float64(l.opts.Burst) - left) / float64(l.opts.Rate) * float64(time.Second)),
	}
	if granted {
		return q, nil
	}
	return q, &LimitError{
		What: "requests of this key", Limit: l.opts.Rate, Per: time.Second,
		RetryAfter: wholeSeconds((1 - left) / float64(l.opts.Rate)),
	}
}

// Upload counts an upload of a key until done is called, or returns a *[LimitError].
// Calling done more than once counts once.
func (l *Limits) Upload(keyID string) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.user(keyID)
	if u.uploads >= l.opts.Uploads {
		return nil, &LimitError{What: "uploads of this key", Limit: l.opts.Uploads, RetryAfter: time.Second}
	}
	u.uploads++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.uploads--
	}), nil
}

// user returns the state of a key; l.mu is held.
func (l *Limits) user(keyID string) *user {
	if u, ok := l.users[keyID]; ok {
		return u
	}
	if len(l.users) >= l.sweep {
		l.dropResting(time.Now())
	}
	u := &user{requests: rate.NewLimiter(rate.Limit(l.opts.Rate), l.opts.Burst)}
	l.users[keyID] = u
	return u
}

// dropResting drops keys with full allowances. The next sweep comes after as many new keys as are left
// now, so it costs little per key.
func (l *Limits) dropResting(now time.Time) {
	for id, u := range l.users {
		if u.uploads == 0 && u.requests.TokensAt(now) >= float64(l.opts.Burst) {
			delete(l.users, id)
		}
	}
	l.sweep = max(sweepAt, 2*len(l.users))
}
