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
	a := commitArguments(store.Token{Epoch: 1, Nonce: 2}, &store.Batch{
		Number: 3, Ack: 4, Set: []store.Row{{Key: key, Value: value}}, Delete: [][]byte{[]byte("gone"), nil},
	})
	copy(key, "xxx")
	copy(value, "xxxxx")
	if got, want := strings.Join(a, " "), "1:2 3 0-5 1 key value gone "; got != want {
		t.Errorf("arguments = %q, want %q", got, want)
	}
}
