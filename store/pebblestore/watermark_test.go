package pebblestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

func TestANoteComesBack(t *testing.T) {
	m := marks{0: {1, 2}, 7: {1 << 60, 0}, 1 << 20: {0, 3}}
	n := note{generation: 9, marks: m, files: map[string]extent{
		"000004.log": {}, "marker.manifest.000003.MANIFEST-000010": {}, "MANIFEST-000010": {1 << 40, 1 << 30},
	}}
	b := n.encode()
	got, err := decodeNote(b)
	if got.generation != 9 || !maps.Equal(got.marks, m) || !maps.Equal(got.files, n.files) || err != nil {
		t.Fatalf("decodeNote() = %+v, %v; want %+v", got, err, n)
	}
	for i := range b {
		b[i] ^= 0x10
		if got, err := decodeNote(b); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("byte %d flipped: decodeNote() = %+v, %v; want ErrCorrupt", i, got, err)
		}
		b[i] ^= 0x10
		if _, err := decodeNote(b[:i]); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("cut to %d bytes: error = %v, want ErrCorrupt", i, err)
		}
	}
}

func FuzzDecodeNote(f *testing.F) {
	seed := note{generation: 1, marks: marks{1: {2, 3}}, files: map[string]extent{"000004.log": {}, "MANIFEST-000010": {5, 6}}}
	f.Add(seed.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := decodeNote(b)
		if err == nil && len(n.encode()) > len(b) {
			t.Errorf("%d bytes became %+v", len(b), n)
		}
	})
}

func TestOneDamagedWatermarkIsSurvivedTwoAreNot(t *testing.T) {
	fs, was := told(t, 2)
	spoil := func(name string) {
		if err := writeFile(fs, "data/weir/"+name, []byte("rubbish")); err != nil {
			t.Fatal(err)
		}
	}
	spoil(markFiles[0])
	if err := inspect(t, fs, was); err != nil {
		t.Fatalf("with one good watermark: %v", err)
	}
	spoil(markFiles[0])
	spoil(markFiles[1])
	if err := inspect(t, fs, was); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("with no good watermark: %v, want ErrCorrupt", err)
	}
	s := openMem(t, fs, Options{AcceptLoss: true})
	if err := errors.Join(was.judge(t.Context(), s), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestALossIsAcceptedOnce(t *testing.T) {
	fs, was := told(t, 2)
	lost := copied(t, fs, func(name string, data []byte) ([]byte, bool) {
		return data, strings.HasPrefix(name, "WATERMARK")
	})
	if err := inspect(t, lost, was); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("with the watermark alone: %v, want ErrCorrupt", err)
	}
	for _, accept := range []bool{true, false} {
		s := openMem(t, lost, Options{AcceptLoss: accept})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestANewerFormatIsNotTakenForDamage(t *testing.T) {
	newer := []byte(markName + "99 with whatever there is to know by then")
	newer = binary.BigEndian.AppendUint32(newer, crc32.Checksum(newer, castagnoli))
	for name, data := range map[string][]byte{markFiles[0]: newer, "marker.format-version.999999.999": nil} {
		fs, _ := told(t, 1)
		if err := writeFile(fs, "data/weir/"+name, data); err != nil {
			t.Fatal(err)
		}
		_, err := Open("data/weir", Options{FS: fs, Logger: quiet(), AcceptLoss: true})
		if !errors.Is(err, errNewer) || errors.Is(err, store.ErrCorrupt) || strings.Contains(err.Error(), "backup") {
			t.Errorf("%s of a newer version: %v, want it said", name, err)
		}
	}
}

// TestTheWatermarkIsWrittenOnceASecond looks at it in a store that was never closed.
func TestTheWatermarkIsWrittenOnceASecond(t *testing.T) {
	for _, mode := range []Mode{Disk, Memory} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := vfs.NewCrashableMem()
				s := openMem(t, fs, Options{Mode: mode})
				var y story
				if err := y.run(t.Context(), s, 2); err != nil {
					t.Fatal(err)
				}
				time.Sleep(markEvery + padAfter)
				synctest.Wait()
				after := crashed(fs, 0, 0)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openMem(t, after, Options{})
				n, err := s.readNote()
				if want := (marks{storyPartition: {2, 2}}); !maps.Equal(n.marks, want) || err != nil {
					t.Errorf("watermark = %v, %v; want %v", n.marks, err, want)
				}
				if err := errors.Join(y.seen().judge(t.Context(), s), s.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
