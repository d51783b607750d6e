package block

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// newTestCodec returns a codec that is closed at the end of the test.
func newTestCodec(t testing.TB) *Codec {
	t.Helper()
	c, err := NewCodec()
	if err != nil {
		t.Fatalf("NewCodec: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// mustBeCorrupt checks that reading was refused as ErrCorrupt.
func mustBeCorrupt(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("%s: error %v, want one that wraps ErrCorrupt", what, err)
	}
}

// forged returns a packed value whose checksum is right, whatever the body is.
func forged(magic byte, body ...byte) []byte {
	raw := append(begin(nil, magic), body...)
	seal(raw)
	return raw
}

// damage gives f raw with each bit flipped and with each shorter length.
func damage(raw []byte, f func(what string, bad []byte)) {
	for i := range raw {
		for bit := range 8 {
			bad := append([]byte(nil), raw...)
			bad[i] ^= 1 << bit
			f("flipped bit", bad)
		}
		f("cut off", raw[:i])
	}
	f("a byte too many", append(raw[:len(raw):len(raw)], 0))
}

func TestHugeClaimsAreRefusedBeforeMemoryIsReserved(t *testing.T) {
	c := newTestCodec(t)
	claim := binary.AppendUvarint(nil, 200<<20)
	blocks := map[string][]byte{
		"1,024 items of 200 MiB in 3 bytes": forged(magicItems, append(append([]byte{0x80, 8, 0, 0}, claim...), 1, 2, 3)...),
		"one item of 200 MiB":               forged(magicItems, append([]byte{1, 0, 0}, claim...)...),
		"documents of 256 KiB in 3 bytes":   forged(magicItems, append(binary.AppendUvarint([]byte{0x80, 8, 0}, 256<<20), 9, 1, 2, 3)...),
		"more items than a block has":       forged(magicItems, 0x81, 8, 0, 0),
		"more bytes of ids than ids take":   forged(magicItems, 1, 0x81, 2, 0),
	}
	for name, raw := range blocks {
		t.Run(name, func(t *testing.T) {
			var err error
			if n := allocated(func() { _, err = c.Open(raw) }); n > 1<<20 {
				t.Errorf("Open reserved %d bytes for a block of %d", n, len(raw))
			}
			mustBeCorrupt(t, "Open", err)
		})
	}
	raw := forged(magicResults, append(append([]byte{0, bodyZstd}, claim...), 1, 2, 3)...)
	var err error
	if n := allocated(func() { err = c.EachResult(raw, nil) }); n > 1<<20 {
		t.Errorf("EachResult reserved %d bytes for %d", n, len(raw))
	}
	mustBeCorrupt(t, "EachResult", err)
}

// allocated returns the bytes of memory that f reserves.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestCorruptionSaysWhat(t *testing.T) {
	c := newTestCodec(t)
	_, err := c.Open([]byte{magicResults, 0, 0, 0, 0, 0})
	mustBeCorrupt(t, "Open of results", err)
	if err != nil && !strings.Contains(err.Error(), "starts with 0xc2") {
		t.Errorf("Open of results = %q, want it to name the first byte", err)
	}
}
