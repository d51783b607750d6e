package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weirhq/weir/store"
)

func TestARecordComesBackAsItWasSealed(t *testing.T) {
	for _, tt := range []struct {
		name, record string
		value        []byte
	}{
		{"a value", "map", []byte("generation 1")},
		{"an empty value", "map", []byte{}},
		{"no value", "map", nil},
		{"an empty name", "", []byte("v")},
		{"a long name", string(make([]byte, 300)), []byte("v")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := store.UnsealRecord(tt.record, store.SealRecord(tt.record, tt.value))
			if err != nil || got == nil || !bytes.Equal(got, tt.value) {
				t.Errorf("UnsealRecord() = %q, %v; want %q", got, err, tt.value)
			}
		})
	}
}

func TestADamagedRecordIsNoticed(t *testing.T) {
	whole := store.SealRecord("map", []byte("value"))
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		if v, err := store.UnsealRecord("map", b); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("UnsealRecord with byte %d changed = %q, %v; want ErrCorrupt", i, v, err)
		}
		if v, err := store.UnsealRecord("map", whole[:i]); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("UnsealRecord of %d bytes = %q, %v; want ErrCorrupt", i, v, err)
		}
	}
}

func TestARecordOfAnotherNameIsNoticed(t *testing.T) {
	for _, name := range []string{"", "ma", "maps", "MAP"} {
		if v, err := store.UnsealRecord(name, store.SealRecord("map", []byte("s"))); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("UnsealRecord(%q) of the record map = %q, %v; want ErrCorrupt", name, v, err)
		}
	}
}
