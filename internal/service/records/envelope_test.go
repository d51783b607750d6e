package records_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

func TestDamageIsNoticed(t *testing.T) {
	ctx := t.Context()
	table, s := newTable(t)
	for _, name := range []string{"a", "b", "c"} {
		must[records.Entry[counter]](t)(table.Insert(ctx, name, counter{N: 7}))
	}
	sound := must[[]byte](t)(s.Lookup(ctx, "counter/b"))
	other := must[[]byte](t)(s.Lookup(ctx, "counter/a"))
	damaged := map[string][]byte{"another's": other, "short": []byte("x"), "longer": append(bytes.Clone(sound), 0)}
	for i := range sound {
		flipped := bytes.Clone(sound)
		flipped[i] ^= 0x10
		damaged[string(rune('0'+i))+" flipped"] = flipped
		damaged[string(rune('0'+i))+" cut"] = sound[:max(i, 1)]
	}
	held := sound
	for what, raw := range damaged {
		held = must[[]byte](t)(s.Swap(ctx, "counter/b", held, raw))
		if e, err := table.Get(ctx, "b"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: Get() = %+v, %v; want ErrCorrupt", what, e, err)
		}
	}
	_, err := table.Update(ctx, "b", increment)
	wantErr(t, "Update of a damaged record", err, store.ErrCorrupt)
	_, err = table.List(ctx, "", "", 9)
	wantErr(t, "List with a damaged record", err, store.ErrCorrupt)
	wantErr(t, "DeleteIf of a damaged record", table.DeleteIf(ctx, "b", "0123456789abcdef"), store.ErrCorrupt)

	var seen string
	for e, err := range table.All(ctx, "") {
		if seen += e.Name; (err != nil) != (e.Name == "b") {
			t.Errorf("All() gave %+v, %v; want an error for b alone", e, err)
		}
	}
	if seen != "abc" {
		t.Errorf("All() gave %q, want abc", seen)
	}
	wantErr(t, "Delete of a damaged record", table.Delete(ctx, "b"), nil)
	_, err = table.Get(ctx, "b")
	wantErr(t, "Get", err, weir.ErrNotFound)
}

func TestARecordThatIsNoSuchValueIsNoticed(t *testing.T) {
	table, s := newTable(t)
	must[records.Entry[string]](t)(records.New[string](s, "counter").Insert(t.Context(), "a", "no counter"))
	_, err := table.Get(t.Context(), "a")
	wantErr(t, "Get", err, store.ErrCorrupt)
}
