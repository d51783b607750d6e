package redisstore

import (
	"fmt"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// keys are the names of one partition's keys.
type keys struct {
	prefix                                                string
	meta, lease, rows, index, inbox, claims, owners, mark string
	forCommit, forAppend, forLease, forScan               []string // as the scripts want them
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

// messageID is a sequence number as the stream has it.
func messageID(seq uint64) string { return "0-" + decimal(seq) }

func tokenText(tok store.Token) string { return decimal(tok.Epoch) + ":" + decimal(tok.Nonce) }

// lexRange is the range of keys that begin with prefix, as ZRANGEBYLEX has it.
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
