package badinput

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

type (
	spec struct {
		Chain weir.Work[json.RawMessage]
		weir.Spec
	}
	items = iter.Seq2[weir.Item[json.RawMessage], error]
)

// libraryRow is a case of the library: a spec or an item that is wrong.
type libraryRow struct {
	no    int
	name  string
	spec  func(*spec)
	items items
	want  string // code and message
}

func item(id, data string) items {
	return engine.Items([]weir.Item[json.RawMessage]{{ID: "first", Value: json.RawMessage("1")}, {ID: id, Value: json.RawMessage(data)}})
}

func libraryRows() []libraryRow {
	fine := item("x", "{}")
	return []libraryRow{
		{4, "an id that is not UTF-8", nil, item("\xff", "{}"), "bad_encoding items[1].id"},
		{3, "a document that is cut", nil, item("x", `{"a":`), "bad_json items[1].data"},
		{5, "NUL in an id", nil, item("a\x00", "{}"), "bad_encoding items[1].id"},
		{8, "a member twice", nil, item("x", `{"a":1,"a":2}`), "bad_json unique member names"},
		{31, "no items", nil, engine.Items[json.RawMessage](nil), "no_items"},
		{33, "a large item", nil, item("x", `"`+strings.Repeat("y", 256<<10)+`"`), "item_too_large items[1].data"},
		{34, "no id", nil, item("", "{}"), "missing_id items[1].id"},
		{35, "a long id", nil, item(strings.Repeat("x", 257), "{}"), "id_too_long more than 256"},
		{36, "an id twice", nil, item("first", "{}"), `duplicate_item item 2: id "first" came before, as item 1`},
		{48, "a chain that is not registered", func(s *spec) { s.Chain = raw("unknown") }, fine, "unknown_action registered"},
		{55, "a tenant with control characters", func(s *spec) { s.Tenant = "a\a" }, fine, "bad_text tenant"},
		{55, "a tenant that turns the text around", func(s *spec) { s.Tenant = "a\u202eb" }, fine, "bad_text tenant"},
		{55, "a tenant of 200 bytes", func(s *spec) { s.Tenant = strings.Repeat("x", 200) }, fine, "bad_text 128"},
		{56, "a tier that is none", func(s *spec) { s.Tier = 77 }, fine, "bad_value TierCritical"},
		{58, "a start in the past", func(s *spec) { s.StartAt = time.Now().Add(-time.Hour) }, fine, "bad_time"},
		{60, "a start in 2190", func(s *spec) { s.StartAt = time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC) }, fine, "bad_time"},
		{68, "a failure rate of 1.2", func(s *spec) { s.StopOn.FailureRate = 1.2 }, fine, "out_of_range stop_on"},
		{68, "a failure rate that is not a number", func(s *spec) { s.StopOn.FailureRate = math.NaN() }, fine, "out_of_range stop_on"},
		{69, "a deadline of the year 9999", func(s *spec) { s.Deadline = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }, fine, "bad_time deadline"},
		{69, "a deadline before the start", func(s *spec) { s.StartAt, s.Deadline = time.Now().Add(2*time.Hour), time.Now().Add(time.Hour) }, fine, "out_of_range deadline"},
		{69, "a deadline in the past", func(s *spec) { s.Deadline = time.Now().Add(-time.Hour) }, fine, "bad_time deadline"},
		{74, "a long idempotency key", func(s *spec) { s.IdempotencyKey = strings.Repeat("k", 300) }, fine, "bad_text idempotency_key"},
	}
}

func raw(name string) weir.Action[json.RawMessage, json.RawMessage] {
	return weir.Action[json.RawMessage, json.RawMessage]{Name: name, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		for i := range b.Len() {
			b.Done(i, nil)
		}
		return nil
	}}
}

func TestTheLibraryReturnsTypedErrors(t *testing.T) {
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = store.Close() })
	e, err := engine.Open(t.Context(), store, engine.Options{Partitions: 1, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	award := weir.Start(raw("award"))
	must(t, e.Handle(award))
	for _, r := range libraryRows() {
		t.Run(fmt.Sprintf("%d %s", r.no, r.name), func(t *testing.T) {
			s := spec{Chain: award}
			if r.spec != nil {
				r.spec(&s)
			}
			_, err := engine.Submit(t.Context(), e, s.Chain, r.items, s.Spec)
			told := codeOf(err) + " " + fmt.Sprint(err)
			for part := range strings.FieldsSeq(r.want) {
				if !strings.Contains(told, part) {
					t.Errorf("error %s, want %q in it", told, part)
				}
			}
			owners, err := store.BlockOwners(t.Context(), 0)
			must(t, err)
			if page, _, err := e.Page(t.Context(), engine.Filter{}, 10); err != nil || len(page) > 0 || len(owners) > 0 {
				t.Errorf("left behind: %v, blocks of %v, %v", page, owners, err)
			}
		})
	}
}

// codeOf returns the code of a typed error.
func codeOf(err error) string {
	var many *weir.InputError
	var one *weir.FieldError
	var twice *weir.DuplicateError
	switch {
	case errors.As(err, &many):
		return many.Fields[0].Code
	case errors.As(err, &one):
		return one.Code
	case errors.As(err, &twice):
		return "duplicate_item"
	}
	return "none"
}
