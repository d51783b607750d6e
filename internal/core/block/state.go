package block

import (
	"encoding/binary"
	"fmt"
)

// State records the outcomes so far of the items of a touched block. The zero value is the
// state of an empty block.
type State struct {
	Size    int   // number of items in the block
	Passed  []Set // per step: items that succeeded there
	Failed  Set   // items that failed for good
	LeftOut Set   // items that an action left out
	Retries []Retry
	Unclear Set // items that have not ended, and were called, or may have been, without a clear answer
}

// Retry is a group of items of one block that wait for another attempt together.
type Retry struct {
	Step    uint8
	Attempt uint8
	Fails   uint8 // failures of the whole task
	Crashes uint8 // processes that ended while it ran, at most MaxCrashes
	Started bool  // marked before its start: it may be running
	Blamed  bool  // it has failed as a whole where others did not
	Due     int64 // when the attempt may start, unix nanoseconds
	Items   Set
}

// MaxCrashes is the largest value of Retry.Crashes.
const MaxCrashes = 63

// withUnclear is set in the number of steps if the set of unclear items follows.
const withUnclear = 1 << 7

// flags packs Crashes, Started and Blamed into a byte.
func (r *Retry) flags() byte {
	b := min(r.Crashes, MaxCrashes) << 1
	if r.Started {
		b |= 1
	}
	if r.Blamed {
		b |= 1 << 7
	}
	return b
}

// Append appends the packed state: number of items, number of steps, the sets of the steps,
// failed, left out, the retries with their due times as differences, and the unclear items if
// there are any. It panics if a set holds an item beyond Size, which Decode could not return.
func (s *State) Append(dst []byte) []byte {
	if s.Size < 0 || s.Size > Size || len(s.Passed) >= withUnclear {
		panic(fmt.Sprintf("block: state of %d items, %d steps", s.Size, len(s.Passed)))
	}
	dst = binary.AppendUvarint(dst, uint64(s.Size))
	steps := byte(len(s.Passed))
	if !s.Unclear.Empty() {
		steps |= withUnclear
	}
	dst = append(dst, steps)
	for i := range s.Passed {
		dst = s.Passed[i].pack(dst, s.Size)
	}
	dst = s.Failed.pack(dst, s.Size)
	dst = s.LeftOut.pack(dst, s.Size)
	dst = binary.AppendUvarint(dst, uint64(len(s.Retries)))
	due := int64(0)
	for i := range s.Retries {
		r := &s.Retries[i]
		dst = append(dst, r.Step, r.Attempt, r.Fails, r.flags())
		dst = binary.AppendVarint(dst, r.Due-due)
		dst = r.Items.pack(dst, s.Size)
		due = r.Due
	}
	if !s.Unclear.Empty() {
		dst = s.Unclear.pack(dst, s.Size)
	}
	return dst
}

// Decode reads a packed state of a bulk action with that many steps into s, reusing the memory
// of s. After an error, which wraps ErrCorrupt, the content of s is undefined.
func (s *State) Decode(raw []byte, steps int) error {
	r := reader{rest: raw}
	s.Size = r.upTo(Size)
	n := r.byte()
	unclear := n&withUnclear != 0
	if n := int(n &^ withUnclear); n != steps && !r.bad {
		return corrupt("state of a block has %d steps, want %d", n, steps)
	}
	s.Passed = s.Passed[:0]
	for range steps {
		s.Passed = append(s.Passed, Set{})
		s.Passed[len(s.Passed)-1].unpack(&r, s.Size)
	}
	s.Failed.unpack(&r, s.Size)
	s.LeftOut.unpack(&r, s.Size)
	s.retries(&r, steps)
	s.Unclear = Set{}
	if unclear {
		s.Unclear.unpack(&r, s.Size)
		r.bad = r.bad || s.Unclear.Empty()
	}
	if r.bad || len(r.rest) > 0 {
		return corrupt("state of a block, %d bytes, does not read to its end", len(raw))
	}
	return nil
}

func (s *State) retries(r *reader, steps int) {
	s.Retries = s.Retries[:0]
	due := int64(0)
	for n := r.upTo(len(r.rest)); n > 0 && !r.bad; n-- {
		s.Retries = append(s.Retries, Retry{Step: r.byte(), Attempt: r.byte(), Fails: r.byte()})
		q := &s.Retries[len(s.Retries)-1]
		flags := r.byte()
		q.Crashes, q.Started, q.Blamed = flags>>1&MaxCrashes, flags&1 != 0, flags>>7 != 0
		due += r.varint()
		q.Due = due
		q.Items.unpack(r, s.Size)
		if int(q.Step) >= steps {
			r.bad = true
		}
	}
}
