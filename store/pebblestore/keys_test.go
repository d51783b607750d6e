package pebblestore

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/weirhq/weir"
)

func TestAfter(t *testing.T) {
	for _, tt := range []struct {
		name      string
		in, after string
	}{
		{"the last byte rises", "ab", "ac"},
		{"a full byte is dropped", "a\xff", "b"},
		{"nothing is behind full bytes alone", "\xff\xff", ""},
		{"nothing is behind nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := after([]byte(tt.in)); string(got) != tt.after {
				t.Errorf("after(%q) = %q, want %q", tt.in, got, tt.after)
			}
		})
	}
}

func TestKeysAreOrderedByNumber(t *testing.T) {
	for _, keys := range [][][]byte{
		{inboxKey(1, 1), inboxKey(1, 255), inboxKey(1, 256), inboxKey(2, 0)},
		{rowKey(1, []byte("z")), rowKey(2, nil), rowKey(256, nil)},
	} {
		for i := 1; i < len(keys); i++ {
			if bytes.Compare(keys[i-1], keys[i]) >= 0 {
				t.Errorf("key %x is not before %x", keys[i-1], keys[i])
			}
		}
	}
}

func FuzzBlockOwner(f *testing.F) {
	f.Add("ba_1", uint32(7), []byte("b\x00\x00\x00\x01\x04ba_1"))
	f.Fuzz(func(t *testing.T, id string, no uint32, rubbish []byte) {
		_, _ = blockOwner(rubbish) // must not panic
		key, err := blocksKey(3, weir.BulkID(id))
		if err != nil {
			return
		}
		if got, ok := blockOwner(binary.BigEndian.AppendUint32(key, no)); !ok || string(got) != id {
			t.Errorf("blockOwner of %q's key = %q, %v", id, got, ok)
		}
	})
}
