package flow

import "time"

const (
	// rowSudden refusals in a row close a downstream that seldom refused before; rowLong
	// refusals, over the time of at least two calls, close any.
	rowSudden, rowLong = 10, 20
	// seldom is the share of refusals up to which they count as seldom, over so many calls.
	seldom, seldomOver = 0.05, 100
	// knownBy is the number of passed calls after which the usual share is known.
	knownBy = 500

	// A closed downstream is probed again soon, then every two seconds. If the closure lasts,
	// probes wait a twentieth of its age, at most ten seconds.
	firstAsk, usualAsk, longestAsk = int64(50 * time.Millisecond), int64(2 * time.Second), int64(10 * time.Second)
	askShare                       = 20
	// openSteps is the number of calls that have to pass until a downstream counts as open.
	// Until then the tasks in flight may at most double with each.
	openSteps = 6
)

// Closure detects that a downstream refuses everything, at any rate: an hourly or per-minute
// quota is used up, or it is overloaded. Then only single probe calls start, and as soon as one
// passes, work goes on as before. Refusals during a closure say nothing about the rate. The
// zero value is open.
type Closure struct {
	row   int   // refusals in a row
	since int64 // when the first of them was sent
	share float64
	calls int     // calls that passed
	wrong int     // closures in a row that turned out wrong: open again at once
	takes float64 // nanoseconds that a passing call takes

	closed int64 // since when, 0 if open
	until  int64 // when the downstream asked to be called again
	askAt  int64
	asks   int
	asked  int64 // when the last probe was sent, 0: none in flight
	steps  int   // calls that passed since, less than openSteps while it opens
}

// Closed reports whether the downstream refuses everything.
func (c *Closure) Closed() bool { return c.closed != 0 }

// Opens returns how far it is open, -1 while it is closed. When the value changes, more tasks
// may start than before.
func (c *Closure) Opens() int {
	if c.closed != 0 {
		return -1
	}
	return c.steps
}

// Text describes the closure in a sentence; it is empty while open.
func (c *Closure) Text() string {
	if c.closed == 0 {
		return ""
	}
	return "the downstream refuses everything since " + time.Unix(0, c.closed).UTC().Format(time.TimeOnly) +
		"; single calls find out when it opens again."
}

// Ready returns when one more task may start while so many are in flight, or [Never] if the end
// of a task decides.
func (c *Closure) Ready(now int64, inFlight int) int64 {
	switch {
	case c.closed == 0 && (c.steps >= openSteps || c.steps == 0 || inFlight < 1<<c.steps):
		return now
	case c.closed == 0 || c.asked != 0 && now-c.asked < longestAsk:
		return Never
	}
	return max(c.askAt, now)
}

// Sent records the start of a task.
func (c *Closure) Sent(now int64) {
	if c.closed != 0 {
		c.asked = now
	}
}

// Ended records the end of a task. sent is when the task was sent, and until when the
// downstream asked to be called again, 0 if it did not. It reports whether a closed downstream
// refused the task: such a refusal says nothing about the rate or the number in flight.
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

// shut reports whether the refusals in a row mean that the downstream is closed. Where refusals
// are common, a call must have had time to pass.
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

// ask sets when the next probe may start.
func (c *Closure) ask(now int64) {
	wait := min(firstAsk<<min(c.asks, 10), max(usualAsk, (now-c.closed)/askShare), longestAsk)
	c.asks++
	c.asked = 0
	c.askAt = max(now+wait, c.until)
}

// passed records a call that passed. A call sent before the row of refusals says nothing about
// them.
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
