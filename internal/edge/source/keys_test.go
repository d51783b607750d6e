package source

import (
	"fmt"
	"math"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func TestKeysKnowsWhatItHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, model := NewKeys(), map[string]bool{}
		for _, id := range rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,6}`), 0, 300).Draw(t, "ids") {
			if fresh := k.Add(id); fresh == model[id] {
				t.Fatalf("Add(%q) = %v, seen before: %v", id, fresh, model[id])
			}
			model[id] = true
		}
		if k.Len() != len(model) {
			t.Fatalf("Len = %d, want %d", k.Len(), len(model))
		}
	})
}

func TestAddAllIsAddForEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, all := NewKeys(), NewKeys()
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			ids := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,5}`), 0, 100).Draw(t, "ids")
			fresh := make([]bool, len(ids))
			all.AddAll(ids, fresh)
			for i, id := range ids {
				if want := one.Add(id); fresh[i] != want {
					t.Fatalf("AddAll(%q)[%d] = %v, Add gives %v", ids, i, fresh[i], want)
				}
			}
		}
		if one.Len() != all.Len() {
			t.Fatalf("Len = %d, want %d", all.Len(), one.Len())
		}
	})
}

func TestPlacedKeysKnowTheFirstLine(t *testing.T) {
	k := NewPlacedKeys()
	const ids = 20_000 // enough for every table to grow a few times
	for i := range 3 * ids {
		id := i * 7 % ids
		first, fresh := k.AddAt(fmt.Sprint("user-", id), i+2)
		if want := i%ids + 2; first != want || fresh != (i < ids) {
			t.Fatalf("AddAt at line %d = %d, %v; it came first at line %d", i+2, first, fresh, want)
		}
	}
	if each := float64(k.Bytes()) / ids; each > 40 {
		t.Errorf("%d ids take %.1f bytes each", ids, each)
	}
}

func TestALineThatIsTooFarIsNotKnown(t *testing.T) {
	k := NewPlacedKeys()
	far := math.MaxInt // on 32-bit systems every line is kept
	want := 0
	if uint64(far) <= math.MaxUint32 {
		want = far
	}
	k.AddAt("a", far)
	if first, fresh := k.AddAt("a", far); first != want || fresh {
		t.Errorf("AddAt = %d, %v, want %d and not fresh", first, fresh, want)
	}
}

func TestKeysTakeAtMost24BytesEach(t *testing.T) {
	k := NewKeys()
	for i := range 1_000_000 {
		if !k.Add(fmt.Sprint("user-", i)) {
			t.Fatalf("id %d looks like an earlier one", i)
		}
		if i >= 300_000 && i%10_000 == 0 && float64(k.Bytes())/float64(k.Len()) > 24 {
			t.Errorf("%d ids take %d bytes, %.1f each, want at most 24", k.Len(), k.Bytes(), float64(k.Bytes())/float64(k.Len()))
		}
	}
	for i := range 1_000_000 {
		if k.Add(fmt.Sprint("user-", i)) {
			t.Fatalf("id %d is fresh the second time", i)
		}
	}
}

func TestKeysTellHashesApartThatShareAHomeAndATag(t *testing.T) {
	k := NewKeys()
	for i := range uint64(200) {
		h := xxh3.Uint128{Lo: ^uint64(0), Hi: i << 8} // all want the last group of one shard: they wrap around
		if !k.add(h) || k.add(h) {
			t.Fatalf("hash %d is not told apart", i)
		}
	}
	if !k.add(xxh3.Uint128{}) || k.add(xxh3.Uint128{}) {
		t.Error("the zero hash is not kept like any other")
	}
}
