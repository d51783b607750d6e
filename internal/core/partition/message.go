package partition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/store"
)

// Created is the stored form of an accepted bulk action: everything except its items. The message
// that creates a small one brings those along.
type Created struct {
	ID          weir.BulkID   `json:"id"`
	Name        string        `json:"name"`
	Tenant      string        `json:"tenant"`
	Tier        weir.Tier     `json:"tier"`
	Priority    int           `json:"priority,omitempty"`
	Chain       string        `json:"chain"`
	Steps       []string      `json:"steps"`
	Items       int64         `json:"items"`
	Sizes       []uint16      `json:"sizes,omitempty"`      // items of each block; nil: all are full but the last
	Places      []Place       `json:"places,omitempty"`     // where its blocks are; nil: under the id, by their number
	Duplicates  int64         `json:"duplicates,omitempty"` // rows that were left out because of a duplicate id
	StopOn      weir.StopRule `json:"stop_on"`
	Deadline    int64         `json:"deadline,omitempty"` // 0: none
	Concurrency int           `json:"concurrency,omitempty"`
	RetryOf     weir.BulkID   `json:"retry_of,omitempty"`
	FirstStep   int           `json:"first_step,omitempty"` // earlier steps were passed in the bulk action that this one retries
	Carries     bool          `json:"carries,omitempty"`    // carried blocks hold what its items bring along: earlier answers, and their key numbers there
	RetryKey    string        `json:"retry_key,omitempty"`  // idempotency key of the retry
	Submitted   int64         `json:"submitted"`
	Inline      bool          `json:"inline,omitempty"` // its only block came with the message, and is a row
	Block       []byte        `json:"-"`                // that block, until it is a row
	Again       bool          `json:"again,omitempty"`  // submitted again after the store may have lost it: the owner checks whether it knows it
	Shards      []int         `json:"shards,omitempty"` // partitions that share the work, the home first; nil: the home does it all
	Range       uint32        `json:"range,omitempty"`  // blocks in a range of a shared one; 0: at least ten

	Text    json.RawMessage    `json:"text,omitempty"`     // describes the chain, where it is not registered
	Hold    bool               `json:"hold,omitempty"`     // waits for a start command
	StartAt int64              `json:"start_at,omitempty"` // starts by itself; 0: at once, or see Hold
	Canary  *Canary            `json:"canary,omitempty"`   // runs first, at the home
	Rates   map[string]float64 `json:"rates,omitempty"`    // items per second by step
	Rules   uint64             `json:"rules,omitempty"`    // counts changes of tier, priority, concurrency, rates and stop rule
	RulesBy string             `json:"rules_by,omitempty"` // mark of the last change
	Notify  bool               `json:"notify,omitempty"`   // events are kept until delivered
	KeysOf  weir.BulkID        `json:"keys_of,omitempty"`  // whose idempotency keys its items have; their numbers are in the carried blocks
	KeepFor int64              `json:"keep_for,omitempty"` // nanoseconds after its end; 0: as long as the engine keeps others
	Extra   json.RawMessage    `json:"extra,omitempty"`    // the submitter's own data
	Terms   []byte             `json:"terms,omitempty"`    // hashes of what it is found by beside tenant and state, 8 bytes each
	Listed  []byte             `json:"listed,omitempty"`   // hashes of its items' ids, 8 bytes each; nil: they are too many
	Trace   string             `json:"trace,omitempty"`    // traceparent of its submit; empty: traces were off
}

// Blocks returns the number of blocks.
func (c *Created) Blocks() uint32 {
	if c.Sizes != nil {
		return uint32(len(c.Sizes))
	}
	return uint32((c.Items + block.Size - 1) / block.Size)
}

// BlockSize returns the number of items in block no.
func (c *Created) BlockSize(no uint32) int {
	if c.Sizes != nil {
		return int(c.Sizes[no])
	}
	return int(min(block.Size, c.Items-int64(no)*block.Size))
}

// Verb is a command to a bulk action.
type Verb string

// The commands.
const (
	Pause   Verb = "pause"
	Resume  Verb = "resume"
	Cancel  Verb = "cancel"
	Start   Verb = "start"   // start a held bulk action; At is the time
	Unset   Verb = "unset"   // clear the start time: it is held again
	Approve Verb = "approve" // run the rest after the canary
	Change  Verb = "change"  // change its rules
)

// Command changes a bulk action. Repeating one has no further effect.
type Command struct {
	ID     weir.BulkID `json:"id"`
	Verb   Verb        `json:"verb"`
	Reason string      `json:"reason,omitempty"`
	At     int64       `json:"at,omitempty"`
	Rules  *weir.Rules `json:"rules,omitempty"`
	Of     *uint64     `json:"of,omitempty"`    // change: only if Rules has this value
	Mark   string      `json:"mark,omitempty"`  // identifies the command, to find out what became of it
	Sent   int64       `json:"sent,omitempty"`  // when, by the sender's clock
	Again  bool        `json:"again,omitempty"` // repeated after the store may have lost it: see Sent
}

// envelope is a message in the inbox. Exactly one field is set.
type envelope struct {
	Created *Created `json:"created,omitempty"`
	Command *Command `json:"command,omitempty"`
	Scale   *Scale   `json:"scale,omitempty"`
	Orders  *Orders  `json:"orders,omitempty"`
	Tally   *Tally   `json:"tally,omitempty"`
	Mark    string   `json:"mark,omitempty"` // no effect; see EncodeMark
}

// endOfJSON separates a message's JSON, which never has such a byte, from the block that it brings along.
const endOfJSON = 0

// EncodeCreated encodes the inbox message of an accepted bulk action, with its block if it is inline.
func EncodeCreated(c Created) ([]byte, error) {
	body, err := json.Marshal(envelope{Created: &c})
	if err != nil || !c.Inline {
		return body, err
	}
	return append(append(body, endOfJSON), c.Block...), nil
}

// EncodeCommand encodes the inbox message of a command.
func EncodeCommand(c Command) ([]byte, error) { return json.Marshal(envelope{Command: &c}) }

// EncodeScale encodes the inbox message of a command to a lane.
func EncodeScale(s Scale) ([]byte, error) { return json.Marshal(envelope{Scale: &s}) }

// EncodeMark encodes an inbox message without effect. A caller that appends a mark and reads up
// to it has seen everything before it.
func EncodeMark(mark string) ([]byte, error) { return json.Marshal(envelope{Mark: mark}) }

// Content is what callers other than the owner need of an inbox message. At most one field is set.
type Content struct {
	Created *Created
	Command *Command
	Mark    string
}

// DecodeMessage reads an inbox message for a caller that is not the owner.
func DecodeMessage(msg store.Message) (Content, error) {
	e, err := decode(msg)
	return Content{e.Created, e.Command, e.Mark}, err
}

func decode(msg store.Message) (e envelope, err error) {
	text, block, _ := bytes.Cut(msg.Body, []byte{endOfJSON})
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("inbox message %d: %w: %w", msg.Seq, store.ErrCorrupt, err)
	}
	if e == (envelope{}) {
		return e, fmt.Errorf("inbox message %d: %w: it says nothing that is known here", msg.Seq, store.ErrCorrupt)
	}
	if e.Created != nil {
		e.Created.Block = block
	}
	return e, nil
}

// Message applies the next message of the inbox, and returns the bulk action that it added, if
// any. A message that cannot be read is an error, and the partition must stop: it may be an
// accepted bulk action.
func (m *Machine) Message(now int64, msg store.Message) (added *Created, err error) {
	e, err := decode(msg)
	if err != nil {
		return nil, err
	}
	if e.Orders != nil {
		if err := m.obey(now, e.Orders); err != nil {
			return nil, fmt.Errorf("inbox message %d: %w", msg.Seq, err)
		}
	}
	m.gen.ack = msg.Seq
	m.gen.command = m.gen.command || e.Created == nil
	switch {
	case e.Created != nil && !m.knowsBulk(e.Created): // else it is a duplicate
		added = e.Created
		m.create(now, added)
	case e.Command != nil:
		m.command(now, e.Command)
	case e.Scale != nil:
		m.scale(now, e.Scale)
	case e.Tally != nil:
		m.tally(now, e.Tally)
	}
	return added, nil
}

// knowsBulk reports whether a bulk action was created here before. One that was submitted again was looked for in the rows
// a moment ago: it may have ended since, or in a commit that is not confirmed.
func (m *Machine) knowsBulk(c *Created) bool {
	return m.bulks[c.ID] != nil || c.Again && (m.gen.ends(c.ID) || m.flying.ends(c.ID) || slices.Contains(m.lately, c.ID))
}

// ends reports whether a bulk action ends with the generation.
func (g *generation) ends(id weir.BulkID) bool {
	return g != nil && slices.ContainsFunc(g.ended, func(b *bulk) bool { return b.spec.ID == id })
}

// mostLately bounds how many bulk actions a machine remembers that have ended.
const mostLately = 1024

// remember notes bulk actions that have ended durably.
func (m *Machine) remember(ended []*bulk) {
	for _, b := range ended {
		m.lately = append(m.lately, b.spec.ID)
	}
	if n := len(m.lately) - mostLately; n >= mostLately {
		m.lately = slices.Delete(m.lately, 0, n)
	}
}

func (m *Machine) create(now int64, c *Created) {
	b := m.addBulk(now, c, homeShard(c))
	b.born = m.number + 1
	if m.gen.since == 0 {
		m.gen.since = now
	}
	m.writeSpec(b)
	m.touch(b)
	m.await(now, b)
	m.confirmFirst(now, b)
	m.mind(now, b)
	if b.atHome() {
		m.grantParts(now, b)
		m.topUp(now, b)
	} else if b.steps != nil {
		if s := b.steps[c.FirstStep]; !chain.Large(c.Items, s.chunk) {
			s.arrived(c.Items)
		}
	}
	m.settle(now, b) // a bulk action without items ends at once
}

// command carries out a command. A command without effect, or to a bulk action that has ended,
// changes nothing.
func (m *Machine) command(now int64, c *Command) {
	b := m.bulks[c.ID]
	if b == nil || b.state.Final() || b.away() {
		return
	}
	if c.Again {
		if c = b.status.Sent.left(c); c == nil {
			return
		}
	}
	if c.Of == nil || *c.Of == b.spec.Rules {
		b.status.Sent.note(c)
	}
	was := b.stance()
	switch c.Verb {
	case Pause:
		m.hold(now, b, weir.BulkPaused, c.Reason)
	case Resume:
		b.status.Resumes++ // also without effect: the sender sees by it that the command was read
		m.touch(b)
		m.release(now, b)
	case Cancel:
		m.cancel(now, b, "user", c.Reason)
	case Start:
		m.startAt(now, b, c.At)
	case Unset:
		m.unset(b)
	case Approve:
		m.approve(now, b)
	case Change:
		if c.Of == nil || *c.Of == b.spec.Rules {
			m.change(now, b, c.Rules, c.Mark)
		}
		return // its mark is in the spec
	}
	if c.Mark != "" {
		b.status.Answers.note(c.Mark, b.stance() != was)
		m.touch(b)
	}
}

// hold stops a running bulk action from starting tasks.
func (m *Machine) hold(now int64, b *bulk, to weir.BulkState, reason string) {
	if b.state == to || !b.state.CanMove(to) {
		return
	}
	b.move(to, reason)
	m.queue.PauseBulk(now, b.queued)
	m.offerAll(now, b) // it blocks no other bulk action now
	m.touch(b)
}

// release resumes a paused or stopped bulk action. After a stop, the stop rule counts from here.
func (m *Machine) release(now int64, b *bulk) {
	if b.state != weir.BulkPaused && b.state != weir.BulkStopped {
		return
	}
	if b.state == weir.BulkStopped {
		b.status.Forgiven = b.status.Failed
		b.status.ForgivenEnded = b.ended()
	}
	b.move(weir.BulkRunning, "")
	b.forgiveCalls()
	m.queue.ResumeBulk(now, b.queued)
	m.mind(now, b)
	m.offerAll(now, b)
	m.judgeCanary(now, b)
}

// cancel cancels what has not started. It costs one row, whatever the number of items: an item
// without an outcome in a cancelled bulk action is cancelled. After a crash, blocks with items at risk are written, too.
func (m *Machine) cancel(now int64, b *bulk, cause, reason string) {
	if b.state == weir.BulkCancelling {
		return
	}
	if b.state == weir.BulkSealed || b.state == weir.BulkScheduled {
		b.status.Started = 0 // it never started
	}
	b.status.CancelCause = cause
	b.move(weir.BulkCancelling, reason)
	m.doubtRisk(b)
	m.withdraw(now, b)
	m.touch(b)
	m.settle(now, b)
}
