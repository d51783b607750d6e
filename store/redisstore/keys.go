package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// keys holds the names of one partition's keys.
type keys struct {
	prefix                                                string
	meta, lease, rows, index, inbox, claims, owners, mark string
	forCommit, forAppend, forLease, forScan               []string // in the order of the scripts

	fewer atomic.Int64 // replicas fewer than promised that the last write needed: a guess for the next
}

// keysOf returns the names for a partition; they are made once.
func (s *Store) keysOf(partition int) *keys {
	if k, ok := s.keys.Load(partition); ok {
		return k.(*keys)
	}
	k, _ := s.keys.LoadOrStore(partition, newKeys(s.opts.Stage, partition))
	return k.(*keys)
}

func newKeys(stage string, partition int) *keys {
	p := fmt.Sprintf("weir:{%s:p%d}:", stage, partition)
	k := &keys{
		prefix: p, meta: p + "meta", lease: p + "lease", rows: p + "rows", index: p + "index",
		inbox: p + "inbox", claims: p + "claims", owners: p + "owners", mark: p + "mark",
	}
	k.forCommit = []string{k.meta, k.rows, k.index, k.inbox}
	k.forAppend = []string{k.inbox, k.claims}
	k.forLease = []string{k.meta, k.lease}
	k.forScan = []string{k.meta, k.rows, k.index}
	return k
}

func (k *keys) numbers(id weir.BulkID) string { return k.prefix + "n:" + string(id) }

func (k *keys) block(id weir.BulkID, no string) string {
	return k.prefix + "b:" + string(id) + ":" + no
}

func decimal[T uint32 | uint64](n T) string { return strconv.FormatUint(uint64(n), 10) }

// countBits is the number of bits of a sequence number that count the messages of one
// millisecond; the rest is the server's time. A server that was set back gives no number to
// another message again, for the same reason as with epochs: it may have forgotten messages,
// but not the time.
const countBits = 20

// messageID returns a sequence number in the form of the stream.
func messageID(seq uint64) string {
	return decimal(seq>>countBits) + "-" + decimal(seq&(1<<countBits-1))
}

// sequence is the inverse of messageID.
func sequence(id string) (seq uint64, ok bool) {
	at, count, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseUint(at, 10, 64)
	n, err2 := strconv.ParseUint(count, 10, 64)
	return ms<<countBits | n, err == nil && err2 == nil && ms < 1<<(64-countBits) && n < 1<<countBits
}

func tokenText(tok store.Token) string { return decimal(tok.Epoch) + ":" + decimal(tok.Nonce) }

func parseToken(text string) (tok store.Token, err error) {
	epoch, nonce, _ := strings.Cut(text, ":")
	if tok.Epoch, err = strconv.ParseUint(epoch, 10, 64); err == nil {
		tok.Nonce, err = strconv.ParseUint(nonce, 10, 64)
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("token %q: %w", text, store.ErrCorrupt)
	}
	return tok, nil
}

// lexRange returns the range of keys that begin with prefix, for ZRANGEBYLEX.
func lexRange(prefix []byte) (from, to string) {
	if len(prefix) == 0 {
		return "-", "+"
	}
	from = "[" + string(prefix)
	end := append([]byte("("), prefix...)
	for len(end) > 1 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 1 {
		return from, "+"
	}
	end[len(end)-1]++
	return from, string(end)
}

// lex is a range of keys as ZRANGEBYLEX has it.
type lex struct {
	from, to string
	back     bool
}

// lexOf returns the range of keys of r.
func lexOf(r store.Range) lex {
	l := lex{back: r.Back}
	l.from, l.to = lexRange(r.Prefix)
	if r.After != nil && (l.from == "-" || string(r.After) >= l.from[1:]) {
		l.from = "(" + string(r.After)
	}
	if r.Before != nil && (l.to == "+" || string(r.Before) < l.to[1:]) {
		l.to = "(" + string(r.Before)
	}
	return l
}
