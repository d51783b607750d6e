package pebblestore

import (
	"bytes"
	"slices"

	"github.com/weirhq/weir/store"
)

// mostRecent is how many bytes of messages a partition keeps in memory.
const mostRecent = 128 << 10

// recent keeps the newest messages of a partition until they are acknowledged, so that an owner that keeps up reads
// none from the disk. It is guarded by the partition's lock.
type recent struct {
	messages []store.Message // without gaps, the oldest first
	bytes    int
}

// add takes a copy of the newest message. The oldest ones give way to it.
func (r *recent) add(seq uint64, body []byte) {
	r.messages = append(r.messages, store.Message{Seq: seq, Body: bytes.Clone(body)})
	r.bytes += len(body)
	n := 0
	for ; r.bytes > mostRecent; n++ {
		r.bytes -= len(r.messages[n].Body)
	}
	r.messages = slices.Delete(r.messages, 0, n)
}

// forget drops the messages up to seq.
func (r *recent) forget(seq uint64) {
	n := 0
	for ; n < len(r.messages) && r.messages[n].Seq <= seq; n++ {
		r.bytes -= len(r.messages[n].Body)
	}
	r.messages = slices.Delete(r.messages, 0, n)
}

// between returns copies of the first messages after one and up to another; nil if some of them are not in memory.
func (r *recent) between(after, upTo uint64, limit int) []store.Message {
	if len(r.messages) == 0 || r.messages[0].Seq > after+1 {
		return nil
	}
	from := int(after + 1 - r.messages[0].Seq)
	to := min(int(upTo+1-r.messages[0].Seq), from+limit)
	found := slices.Clone(r.messages[from:to])
	for i := range found {
		found[i].Body = bytes.Clone(found[i].Body)
	}
	return found
}
