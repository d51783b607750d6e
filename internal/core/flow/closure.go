package flow

import "time"

const (
	// rowSudden refusals in a row close what was seldom refused before, and rowLong for as
	// long as two calls take close anything.
	rowSudden, rowLong = 10, 20
	// seldom is the share of refusals up to which they are seldom, over so many calls.
	seldom, seldomOver = 0.05, 100
	// knownBy is after how many calls that passed it is known what is usual.
	knownBy = 500

	// A closed downstream is asked again soon, then every two seconds, and every ten at
	// the most if that lasts: then a twentieth of the time that it was closed.
	firstAsk, usualAsk, longestAsk = int64(50 * time.Millisecond), int64(2 * time.Second), int64(10 * time.Second)
	askShare                       = 20
	// openSteps is how many calls have to pass until a downstream counts as open: until
	// then at most twice as many start as the time before.
	openSteps = 6
)

// Closure notices that a downstream refuses everything, whatever the rate: a quota of
// an hour or a minute is used up, or it is overwhelmed. Nothing but single calls start then,
// and as soon as one passes, work goes on as before. What was refused meanwhile says
// nothing about the rate. The zero value is open.
type Closure struct {
	row   int   // refusals in a row
	since int64 // when the first of them was sent
	share float64
	calls int     // that passed
	wrong int     // how often in a row it was open again at once
	takes float64 // nanoseconds of a call that passes

	closed int64 // since when, 0 if open
	until  int64 // when the downstream said to come back
	askAt  int64
	asks   int
	asked  int64 // when the last single call was sent, 0: none is out
	steps  int   // calls that passed since, less than openSteps while it opens
}

// Closed reports whether the downstream refuses everything.
func (c *Closure) Closed() bool { return c.closed != 0 }

// Opens tells how far it is open. When that changes, more may start than before.
func (c *Closure) Opens() int {
	if c.closed != 0 {
		return -1
	}
	return c.steps
}

// Text says in a sentence what is known; empty: it is open.
func (c *Closure) Text() string {
	if c.closed == 0 {
		return ""
	}
	return "the downstream refuses everything since " + time.Unix(0, c.closed).UTC().Format(time.TimeOnly) + "; single calls find out when it opens again."
}

// Ready tells when one more task may start while so many are in flight; [Never]: the end of
// a task will tell.
func (c *Closure) Ready(now int64, inFlight int) int64 {
	switch {
	case c.closed == 0 && (c.steps >= openSteps || c.steps == 0 || inFlight < 1<<c.steps):
		return now
	case c.closed == 0 || c.asked != 0 && now-c.asked < longestAsk:
		return Never
	}
	return max(c.askAt, now)
}

// Sent notes that a task starts.
func (c *Closure) Sent(now int64) {
	if c.closed != 0 {
		c.asked = now
	}
}

// Ended notes that a task ended which was sent at a time. until is when the downstream said
// to come back, 0 if it did not. It reports whether this was refused by a downstream
// that is closed: then it says nothing about rate or number in flight.
func (c *Closure) Ended(now, sent int64, refused bool, until int64) (closed bool) {
	if !refused {
		c.passed(now, sent)
		return false
	}
	c.until = max(c.until, min(until, now+longestBlock))
	if c.row == 0 || sent < c.since {
		c.since = sent
	}
	c.row++
	switch {
	case c.closed != 0 && c.asked != 0 && sent >= c.asked:
		c.ask(now)
	case c.closed == 0 && c.shut(now):
		c.closed, c.asks, c.steps = now, 0, 0
		c.ask(now)
	}
	if c.closed == 0 {
		c.share += (1 - c.share) / seldomOver
	}
	return c.closed != 0
}

// shut tells whether the refusals in a row mean that it is closed. Where many are refused
// anyway, a call has to have had the time to pass.
func (c *Closure) shut(now int64) bool {
	if c.calls == 0 && c.until > now { // nothing has passed, and it says when to come back
		return true
	}
	before := c.share - float64(c.row-1)/seldomOver // without the row
	if c.row >= rowSudden && before < seldom && c.calls >= knownBy<<c.wrong {
		return true
	}
	return c.row >= rowLong && float64(now-c.since) > max(2*c.takes, float64(windowNanos))
}

// ask sets when the next single call may start.
func (c *Closure) ask(now int64) {
	wait := min(firstAsk<<min(c.asks, 10), max(usualAsk, (now-c.closed)/askShare), longestAsk)
	c.asks++
	c.asked = 0
	c.askAt = max(now+wait, c.until)
}

// passed notes a call that was let through. One that was sent before the row tells nothing about it.
func (c *Closure) passed(now, sent int64) {
	c.takes += (float64(now-sent) - c.takes) / 16
	c.calls++
	if c.row > 0 && sent < c.since {
		return
	}
	c.row = 0
	if c.closed != 0 {
		if c.wrong = min(c.wrong+1, 8); now-c.closed > second {
			c.wrong = 0
		}
		c.closed, c.asked, c.until, c.steps, c.calls = 0, 0, 0, 1, 0
		if c.wrong == 0 {
			c.calls = knownBy
		}
		return
	}
	c.share -= c.share / seldomOver
	if c.steps > 0 && c.steps < openSteps {
		c.steps++
	}
}
