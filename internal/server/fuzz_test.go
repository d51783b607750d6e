package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/draft"
)

// FuzzCheckJSON wants that what is let through is what a strict decoder takes, and the other way round.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", `{"a":1,"a":2}`, `{"a":1e999}`, `{"a":9007199254740993}`, "\xef\xbb\xbf{}", "\xff\xfe{\x00", `{"a":"\u0000"}`, `{"a":"\ud800"}`,
		`{"items":[{"id":"a","data":{"n":1e15}}]}`, `{} {}`, `{"a":[[[[1]]]]}`, "{\"a\":\"\x00\"}", `{"a":`, `{"params":{"x":12345678901234567890}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean, p := checkJSON(bytes.Clone(raw))
		var v map[string]any
		err := jsonv2.Unmarshal(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), &v)
		switch {
		case p == nil && (err != nil || v == nil):
			t.Errorf("%q is let through, and is %v", raw, err)
		case p != nil && (p.Status != 400 || p.Detail == ""):
			t.Errorf("%q: problem %+v", raw, p)
		case p != nil && err == nil && v != nil && p.Code != "bad_number" && p.Code != "bad_encoding" && p.Code != "too_deep":
			t.Errorf("%q is refused with %s (%s), and is right", raw, p.Code, p.Detail)
		case p == nil && json.Unmarshal(clean, &v) != nil:
			t.Errorf("%q is let through, and other decoders refuse it", clean)
		}
	})
}

// FuzzCursor wants that only cursors that were made for a list are taken.
func FuzzCursor(f *testing.F) {
	f.Add("", "bulk")
	f.Add("abc", "bulk")
	f.Add(sealCursor("ba_1", "bulk", "draft"), "bulk")
	f.Fuzz(func(t *testing.T, cursor, list string) {
		if place, err := openCursor(cursor, list, "x"); err == nil && cursor != "" && strings.TrimRight(sealCursor(place, list, "x"), "=") != cursor {
			if again, _ := openCursor(sealCursor(place, list, "x"), list, "x"); again != place {
				t.Errorf("cursor %q of %q is taken for %q", cursor, list, place)
			}
		}
		if place, err := openCursor(sealCursor(cursor, list), list); err != nil || place != cursor {
			t.Errorf("place %q of %q comes back as %q, %v", cursor, list, place, err)
		}
		if _, err := openCursor(sealCursor(cursor, list), list, "other"); err == nil {
			t.Errorf("the cursor of another list is taken")
		}
	})
}

// FuzzAppendBody wants that any body is read to its end or refused, within bounds.
func FuzzAppendBody(f *testing.F) {
	for _, seed := range []string{"id,a\n1,2\n", "{\"id\":\"a\"}\n", "[{\"id\":1}]", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "sep=;\nid;x\n1;2", "\"", "\xff\xfe", "id\n\"a", "{}"} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, kind uint8) {
		const most = 1 << 20
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", bytes.NewReader(raw))
		plain, err := unpack(r, most)
		if err != nil {
			return
		}
		o := source.Options{Format: []source.Format{source.CSV, source.NDJSON, source.JSON}[kind%3], MaxItem: 1 << 10}
		rows, err := openUTF8(io.LimitReader(plain, 2*most), o)
		if err != nil {
			return
		}
		defer rows.Close()
		var at places
		var bad, n int64
		for it, err := range good(rows, draft.HowToAppend{Record: true}, &at, &bad) {
			if err != nil {
				return
			}
			if n++; it.ID == "" || len(it.ID) > weir.MaxIDBytes || len(it.Value) > 1<<10 || at.line(n) < 1 {
				t.Fatalf("item %d on line %d: %q %q", n, at.line(n), it.ID, it.Value)
			}
		}
	})
}
