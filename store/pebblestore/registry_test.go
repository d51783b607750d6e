package pebblestore

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

func TestADamagedLastingRecordIsNoticed(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	defer s.Close()
	for name, kept := range map[string][]byte{
		"cut":      []byte("ab"),
		"another":  store.SealRecord("other", []byte("value")),
		"unsealed": []byte("value without a checksum"),
	} {
		if err := s.db.Set(recordKey(name), kept, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if v, err := s.Lookup(t.Context(), name); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Lookup(%q) = %q, %v; want ErrCorrupt", name, v, err)
		}
		if v, err := s.Swap(t.Context(), name, nil, []byte("new")); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Swap(%q) = %q, %v; want ErrCorrupt", name, v, err)
		}
	}
}

func TestAnnouncementsEndWithTheProcessAndLastingRecordsDoNot(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{})
	if err := s.Announce(t.Context(), "nodes", store.Record{Name: "a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), "map", nil, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, Options{})
	defer s.Close()
	if list, err := s.Announced(t.Context(), "nodes"); err != nil || len(list) != 0 {
		t.Errorf("Announced() = %v, %v; want none of the process before", list, err)
	}
	if v, err := s.Lookup(t.Context(), "map"); err != nil || string(v) != "one" {
		t.Errorf("Lookup() = %q, %v; want one", v, err)
	}
}

func TestAMetaRowWithoutATokenIsRead(t *testing.T) {
	tok := store.Token{Epoch: 5, Nonce: 6}
	for _, tt := range []struct {
		name string
		row  []byte
		by   store.Token
		bad  bool
	}{
		{"with a token", encodeMeta(7, 8, tok), tok, false},
		{"of a version before there was one", encodePair(7, 8), store.Token{}, false},
		{"that was cut", encodeMeta(7, 8, tok)[:20], store.Token{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			number, acked, by, err := decodeMeta(tt.row)
			if tt.bad {
				if !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("decodeMeta() = %v, want ErrCorrupt", err)
				}
				return
			}
			if number != 7 || acked != 8 || by != tt.by || err != nil {
				t.Errorf("decodeMeta() = %d, %d, %+v, %v; want 7, 8, %+v", number, acked, by, err, tt.by)
			}
		})
	}
}
