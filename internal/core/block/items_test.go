package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"pgregory.net/rapid"
)

type item struct {
	id   string
	data []byte
}

// drawItems draws up to n items: any bytes, and often such as repeat.
func drawItems(t *rapid.T, n int) []item {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item {
		return item{
			rapid.OneOf(rapid.StringN(0, 20, MaxIDBytes), rapid.StringMatching(`u[0-9]{1,6}`)).Draw(t, "id"),
			rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 300), rapid.Just([]byte(`{"a":1}`))).Draw(t, "data"),
		}
	}), 0, n).Draw(t, "items")
}

func fill(b *Builder, items []item) {
	b.Reset()
	for _, it := range items {
		b.Add(it.id, it.data)
	}
}

// check compares an opened block with the items that went in.
func check(t rapid.TB, got *Items, want []item) {
	t.Helper()
	if got.Len() != len(want) {
		t.Fatalf("Len() = %d, want %d", got.Len(), len(want))
	}
	for i, w := range want {
		if got.ID(i) != w.id || !bytes.Equal(got.Data(i), w.data) {
			t.Fatalf("item %d = %q %q, want %q %q", i, got.ID(i), got.Data(i), w.id, w.data)
		}
	}
}

func TestItemsComeBackByteForByte(t *testing.T) {
	c := newTestCodec(t)
	var b Builder // the same one all along: nothing of earlier blocks may show
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t, 60)
		fill(&b, items)
		prefix := []byte("kept")
		raw := c.Seal(prefix, &b)
		if !bytes.HasPrefix(raw, prefix) {
			t.Fatalf("Seal did not append to dst")
		}
		got, err := c.Open(raw[len(prefix):])
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		clear(raw) // an opened block must not depend on what it was read from
		check(t, got, items)
	})
}

func TestBlockAtItsLimits(t *testing.T) {
	c := newTestCodec(t)
	long := strings.Repeat("x", MaxIDBytes)
	huge := bytes.Repeat([]byte("0123456789abcdef"), MaxItemBytes/16)
	many := func(n int, it item) []item {
		items := make([]item, n)
		for i := range items {
			items[i] = it
		}
		return items
	}
	for _, tt := range []struct {
		name  string
		items []item
	}{
		{"no items", nil},
		{"one empty item", []item{{"", nil}}},
		{"a full block of empty items", many(Size, item{"", nil})},
		{"the longest ids", many(Size, item{long, []byte("1")})},
		{"the longest data", many(20, item{"a", huge})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b Builder
			fill(&b, tt.items)
			if b.Full() != (len(tt.items) == Size) || b.Len() != len(tt.items) {
				t.Errorf("Full() = %t, Len() = %d with %d items", b.Full(), b.Len(), len(tt.items))
			}
			got, err := c.Open(c.Seal(nil, &b))
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			check(t, got, tt.items)
			if got.MemSize() < b.Bytes() {
				t.Errorf("MemSize() = %d, below the %d bytes of ids and data", got.MemSize(), b.Bytes())
			}
		})
	}
}

func TestLimitsAreThoseOfItems(t *testing.T) {
	if MaxIDBytes != weir.MaxIDBytes || MaxItemBytes != weir.MaxItemBytes {
		t.Errorf("limits are %d and %d, want those of package weir, %d and %d",
			MaxIDBytes, MaxItemBytes, weir.MaxIDBytes, weir.MaxItemBytes)
	}
}

func TestAddBeyondTheLimitsPanics(t *testing.T) {
	var full Builder
	for range Size {
		full.Add("", nil)
	}
	for _, tt := range []struct {
		name string
		b    *Builder
		item item
	}{
		{"an item too many", &full, item{"a", nil}},
		{"an id too long", new(Builder), item{strings.Repeat("x", MaxIDBytes+1), nil}},
		{"data too long", new(Builder), item{"a", make([]byte, MaxItemBytes+1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Add did not panic")
				}
			}()
			tt.b.Add(tt.item.id, tt.item.data)
		})
	}
}

func TestEveryDamageToABlockIsNoticed(t *testing.T) {
	c := newTestCodec(t)
	var b Builder
	for i := range 20 {
		b.Add(fmt.Sprintf("u%d", i), fmt.Appendf(nil, `{"amount":%d}`, i*i))
	}
	b.Check(json.Valid)
	damage(c.Seal(nil, &b), func(what string, bad []byte) {
		_, err := c.Open(bad)
		mustBeCorrupt(t, what, err)
	})
}

func TestLengthsThatDoNotAddUpAreCorrupt(t *testing.T) {
	c := newTestCodec(t)
	for _, tt := range []struct {
		name  string
		sizes [3]byte // items, bytes of ids, bytes of documents
		plain string
	}{
		{"missing lengths", [3]byte{2, 0, 0}, "\x00\x00\x00\x00"},
		{"ids longer than the header says", [3]byte{1, 1, 0}, "\x00\x02\x00ab"},
		{"data shorter than what is there", [3]byte{1, 1, 1}, "\x00\x01\x02abc"},
		{"data shorter than the header says", [3]byte{1, 1, 2}, "\x00\x01\x02ab"},
		{"data longer than what is there", [3]byte{1, 1, 3}, "\x00\x01\x06abc"},
		{"a length that never ends", [3]byte{1, 1, 1}, "\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffa"},
		{"more shapes than there may be", [3]byte{1, 0, 1}, "\x12\x00\x01x\x00"},
		{"two shapes and all documents have the same", [3]byte{1, 0, 1}, "\x04\x00\x01x\x00\x01y\x00"},
		{"a shape that is not there", [3]byte{1, 0, 1}, "\x03\x00\x01x\x02\x00"},
		{"a part longer than what is there", [3]byte{1, 0, 1}, "\x02\x00\x7fx"},
		{"more values than a shape may have", [3]byte{1, 0, 1}, "\x02\x7fx"},
		{"values longer than what is there", [3]byte{1, 0, 9}, "\x02\x01\x01[\x01]\x00\x0e12"},
		{"a shape larger than the header says", [3]byte{1, 0, 3}, "\x02\x01\x01[\x01]\x00\x0412"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := append(tt.sizes[:], byte(len(tt.plain)))
			_, err := c.Open(forged(magicItems, c.compress(body, []byte(tt.plain))...))
			mustBeCorrupt(t, "Open", err)
		})
	}
}

func TestCodecAndItemsServeSeveralGoroutines(t *testing.T) {
	c := newTestCodec(t)
	var first Builder
	userItems(&first)
	raw := c.Seal(nil, &first)
	shared, err := c.Open(raw)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() { errs[g] = reseal(c, shared, raw) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// reseal packs the items of it again and again, and wants want each time.
func reseal(c *Codec, it *Items, want []byte) error {
	var b Builder
	for range 10 {
		b.Reset()
		for i := range it.Len() {
			b.Add(it.ID(i), it.Data(i))
		}
		raw := c.Seal(nil, &b)
		if !bytes.Equal(raw, want) {
			return errors.New("sealing the same items again gave other bytes")
		}
		if _, err := c.Open(raw); err != nil {
			return err
		}
	}
	return nil
}

// fewestAllocs returns how often f allocates at best: the race detector empties
// the decoder's pools at random, and a decoder that is new fills them.
func fewestAllocs(f func()) float64 {
	fewest := testing.AllocsPerRun(1, f)
	for range 50 {
		fewest = min(fewest, testing.AllocsPerRun(1, f))
	}
	return fewest
}

func TestAllocations(t *testing.T) {
	c := newTestCodec(t)
	var b Builder
	userItems(&b)
	dst := c.Seal(nil, &b)
	if n := fewestAllocs(func() { dst = c.Seal(dst[:0], &b) }); n > 0 {
		t.Errorf("Seal allocates %v times, want 0", n)
	}
	if n := fewestAllocs(func() { _, _ = c.Open(dst) }); n > 4 { // Items, bytes, ends, ids
		t.Errorf("Open allocates %v times, want at most 4", n)
	}
	b.Check(json.Valid)
	if n := fewestAllocs(func() { dst = c.Seal(dst[:0], &b) }); n > 0 {
		t.Errorf("Seal allocates %v times for documents of a shape, want 0", n)
	}
	if n := fewestAllocs(func() { _, _ = c.Open(dst) }); n > 25 { // for the parts of the shape, not for the items
		t.Errorf("Open allocates %v times for documents of a shape, want at most 25", n)
	}
	data := []byte(`{"amount":500}`)
	if n := fewestAllocs(func() {
		b.Reset()
		for range Size {
			b.Add("u1", data)
		}
	}); n > 0 {
		t.Errorf("filling a used Builder allocates %v times, want 0", n)
	}
}

func TestPendingItemsAreSmall(t *testing.T) {
	c := newTestCodec(t)
	for _, tt := range []struct {
		name string
		fill func(*Builder)
		max  float64 // bytes per item; the plain ones have 90 and 100
	}{
		{"users", userItems, 10},
		{"random", randomItems, 35},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b Builder
			tt.fill(&b)
			if got := float64(len(c.Seal(nil, &b))) / Size; got > tt.max {
				t.Errorf("%.2f bytes per item, want at most %v", got, tt.max)
			}
		})
	}
}
