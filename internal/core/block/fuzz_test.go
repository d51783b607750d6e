package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The fuzz targets for blocks and results put a right checksum on whatever comes,
// as otherwise nothing would get past it.

func FuzzOpen(f *testing.F) {
	c := newTestCodec(f)
	var b Builder
	f.Add(c.Seal(nil, &b)[sealedHeader:])
	b.Add("u1", []byte(`{"amount":1}`))
	b.Add("u2", []byte(`{"amount":2}`))
	f.Add(c.Seal(nil, &b)[sealedHeader:])
	b.Check(json.Valid)
	f.Add(c.Seal(nil, &b)[sealedHeader:])
	b.Add("u3", []byte(`{"name":"x"}`))
	b.Add("u4", []byte(`[]`))
	b.Check(json.Valid)
	f.Add(c.Seal(nil, &b)[sealedHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		it, err := c.Open(forged(magicItems, body...))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Open: %v does not wrap ErrCorrupt", err)
			}
			return
		}
		var again Builder
		for i := range it.Len() {
			again.Add(it.ID(i), it.Data(i))
		}
		back, err := c.Open(c.Seal(nil, &again))
		if err != nil {
			t.Fatalf("Open of what was read and sealed again: %v", err)
		}
		if back.ids != it.ids || !bytes.Equal(back.data, it.data) {
			t.Fatalf("items changed on their way through Seal and Open")
		}
	})
}

// FuzzCheck compares the judgement of shapes with that of the JSON package, and what comes out with what went in.
func FuzzCheck(f *testing.F) {
	c := newTestCodec(f)
	for _, seed := range [][2]string{
		{`{"a":1,"b":"x"}`, `{"a":-1.5e3,"b":"y \u00e9 ü"}`},
		{`{"a":[true,null],"b":{"c":""}}`, `{"a":[false,1],"b":{"c":"` + "\x80" + `"}}`},
		{`"text"`, ` "text" `},
		{`{"a":1,"a":2}`, `{"a":01}`},
		{`{"a":"` + strings.Repeat("x", 20) + `"}`, `{"a":"` + strings.Repeat("x", 9) + `\"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		if len(one) > MaxItemBytes || len(other) > MaxItemBytes {
			return
		}
		docs, want := []item{{"1", one}, {"2", other}, {"3", one}}, -1
		for i, it := range docs {
			if want < 0 && !jsontext.Value(it.data).IsValid() {
				want = i
			}
		}
		var b Builder
		fill(&b, docs)
		if bad := b.Check(func(doc []byte) bool { return jsontext.Value(doc).IsValid() }); bad != want {
			t.Fatalf("Check of %q and %q = %d, want %d", one, other, bad, want)
		}
		got, err := c.Open(c.Seal(nil, &b))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		check(t, got, docs)
	})
}

func FuzzState(f *testing.F) {
	for _, s := range benchStates() {
		s.Retries = []Retry{{Step: 1, Attempt: 2, Fails: 1, Due: 1e18, Items: s.Failed}}
		f.Add(s.Append(nil), 2)
	}
	f.Fuzz(func(t *testing.T, raw []byte, steps int) {
		if steps < 0 || steps > 255 {
			return
		}
		var s, back State
		if err := s.Decode(raw, steps); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Decode: %v does not wrap ErrCorrupt", err)
			}
			return
		}
		if err := back.Decode(s.Append(nil), steps); err != nil {
			t.Fatalf("Decode of what was read and packed again: %v", err)
		}
		if !reflect.DeepEqual(s, back) {
			t.Fatalf("state %+v became %+v", s, back)
		}
	})
}

func FuzzResults(f *testing.F) {
	c := newTestCodec(f)
	for _, rs := range benchResults() {
		f.Add(c.SealResults(nil, 1_800_000_000e9, rs)[sealedHeader:])
		f.Add(c.SealResults(nil, 1_800_000_000e9, rs[:2])[sealedHeader:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rs, err := read(c, forged(magicResults, body...))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("EachResult: %v does not wrap ErrCorrupt", err)
			}
			return
		}
		back, err := read(c, c.SealResults(nil, 1_800_000_000e9, rs))
		if err != nil || len(back) != len(rs) {
			t.Fatalf("%d results read and sealed again gave %d and error %v", len(rs), len(back), err)
		}
		for i := range rs {
			if !sameResult(rs[i], back[i]) {
				t.Fatalf("result %d: %+v became %+v", i, rs[i], back[i])
			}
		}
	})
}
