package redisstore

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/store"
)

func TestAllKeysOfAPartitionShareItsHashTag(t *testing.T) {
	k := newKeys("prod", 17)
	for _, name := range []string{k.meta, k.lease, k.rows, k.index, k.inbox, k.claims, k.owners, k.mark, k.numbers("ba_1"), k.block("ba_1", "3")} {
		if !strings.HasPrefix(name, "weir:{prod:p17}:") {
			t.Errorf("key %q does not begin with weir:{prod:p17}:", name)
		}
	}
}

func TestTheRangeOfAPrefix(t *testing.T) {
	for _, tt := range []struct{ prefix, from, to string }{
		{"", "-", "+"},
		{"k", "[k", "(l"},
		{"k\xff", "[k\xff", "(l"},
		{"k\xff\x01", "[k\xff\x01", "(k\xff\x02"},
		{"\xff\xff", "[\xff\xff", "+"},
	} {
		if from, to := lexRange([]byte(tt.prefix)); from != tt.from || to != tt.to {
			t.Errorf("lexRange(%q) = %q, %q; want %q, %q", tt.prefix, from, to, tt.from, tt.to)
		}
	}
}

func TestArgumentsAreCopied(t *testing.T) {
	key, value := []byte("key"), []byte("value")
	a := commitArguments(7, store.Token{Epoch: 1, Nonce: 2}, &store.Batch{
		Number: 3, Ack: 7<<countBits | 4, Set: []store.Row{{Key: key, Value: value}}, Delete: [][]byte{[]byte("gone"), nil},
	})
	copy(key, "xxx")
	sealed := rowPlace(7, []byte("key")).sealed([]byte("value"))
	copy(value, "xxxxx")
	if got, want := strings.Join(a, " "), "1:2 3 7-5 1 key "+sealed+" gone "; got != want {
		t.Errorf("arguments = %q, want %q", got, want)
	}
}

func TestASequenceNumberIsTheTimeAndACount(t *testing.T) {
	for _, tt := range []struct {
		id   string
		seq  uint64
		good bool
	}{
		{"0-0", 0, true},
		{"0-7", 7, true},
		{"1700000000000-3", 1_700_000_000_000<<countBits + 3, true},
		{"1-1048575", 2<<countBits - 1, true},
		{"1-1048576", 0, false},
		{"17592186044416-0", 0, false},
		{"5", 0, false},
		{"a-1", 0, false},
	} {
		seq, ok := sequence(tt.id)
		if ok != tt.good || ok && (seq != tt.seq || messageID(seq) != tt.id) {
			t.Errorf("sequence(%q) = %d, %t; want %d, %t", tt.id, seq, ok, tt.seq, tt.good)
		}
	}
	if got := messageID(2<<countBits - 1 + 1); got != "2-0" {
		t.Errorf("the id after 1-1048575 = %q, want 2-0", got)
	}
}
