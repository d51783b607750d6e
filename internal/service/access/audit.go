package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

// Bounds of an entry. Longer text is cut, because a change that was made must be recorded in any
// case.
const (
	maxAuditText  = 1000     // bytes of reason, target and the like
	maxAuditState = 64 << 10 // bytes of before and of after
)

const auditPrefix = "aud_"

// Change describes a change that a caller made.
type Change struct {
	Who       Principal
	From      string // remote address
	Action    string // as in "bulk_action.cancel"
	Target    string // id or name of what was changed
	Tenant    string // the owner; empty for a change that belongs to no tenant
	Before    any    // as JSON; nil if it did not exist
	After     any    // as JSON; nil if it was removed
	Reason    string // as the caller gave it
	RequestID string
}

// AuditEntry is a recorded change.
type AuditEntry struct {
	ID        string          `json:"id"` // aud_ and a ULID
	At        time.Time       `json:"at"`
	KeyID     string          `json:"key_id"`
	KeyName   string          `json:"key_name"`
	From      string          `json:"from,omitempty"`
	Action    string          `json:"action"`
	Target    string          `json:"target,omitempty"`
	Tenant    string          `json:"tenant,omitempty"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
}

// Audit is the audit log. Entries are added, read and, when they are old, removed; nothing changes
// them. It may be used by many goroutines and nodes.
type Audit struct {
	table *records.Table[AuditEntry]
}

// NewAudit returns the audit log in a store.
func NewAudit(s records.Keeper) *Audit { return &Audit{records.New[AuditEntry](s, "audit")} }

// Append records a change. Secrets in its states are replaced, see [Scrub].
func (a *Audit) Append(ctx context.Context, c Change) (AuditEntry, error) {
	before, err := encodeState(c.Before)
	if err != nil {
		return AuditEntry{}, fmt.Errorf("audit %s: before: %w", c.Action, err)
	}
	after, err := encodeState(c.After)
	if err != nil {
		return AuditEntry{}, fmt.Errorf("audit %s: after: %w", c.Action, err)
	}
	id := ulid.Make()
	e := AuditEntry{
		ID: auditPrefix + strings.ToLower(id.String()), At: id.Timestamp().UTC(), KeyID: c.Who.KeyID, KeyName: c.Who.Name,
		From: cut(c.From), Action: cut(c.Action), Target: cut(c.Target), Tenant: c.Tenant, Before: before, After: after,
		Reason: cut(c.Reason), RequestID: cut(c.RequestID),
	}
	if _, err := a.table.Insert(ctx, nameOf(id), e); err != nil {
		return AuditEntry{}, fmt.Errorf("audit %s: %w", c.Action, err)
	}
	return e, nil
}

// encodeState returns a state as scrubbed JSON of at most 64 KiB.
func encodeState(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if len(raw) > maxAuditState {
		return fmt.Appendf(nil, `{"omitted_bytes":%d}`, len(raw)), nil
	}
	return Scrub(raw)
}

func cut(s string) string {
	s = hideKeys(strings.ToValidUTF8(s, "�"))
	if len(s) > maxAuditText {
		return strings.ToValidUTF8(s[:maxAuditText], "") + "…"
	}
	return s
}

// nameOf inverts an id, so that the newest entry has the smallest name: a store lists by name, and
// readers want the newest entries first.
func nameOf(id ulid.ULID) string {
	for i := range id {
		id[i] = ^id[i]
	}
	return id.String()
}

// nameAt returns the greatest name of a millisecond: all earlier entries follow it.
func nameAt(t time.Time) string {
	var id ulid.ULID
	// A time outside the range of ULIDs is before or after all of them.
	ms := min(max(t.UnixMilli(), 0), int64(ulid.MaxTime()))
	_ = id.SetTime(uint64(ms))
	return nameOf(id)
}

// AuditFilter selects entries. An empty or zero field matches any.
type AuditFilter struct {
	Tenant, Target string
	Actor          string    // id of a key
	Action         string    // a full name, or a prefix with a dot: "bulk_action." matches all of these
	From, To       time.Time // inclusive, exclusive
}

func (f *AuditFilter) matches(e *AuditEntry) bool {
	return (f.Tenant == "" || e.Tenant == f.Tenant) && (f.Target == "" || e.Target == f.Target) &&
		(f.Actor == "" || e.KeyID == f.Actor) &&
		(f.Action == "" || e.Action == f.Action || strings.HasSuffix(f.Action, ".") && strings.HasPrefix(e.Action, f.Action)) &&
		(f.To.IsZero() || e.At.Before(f.To))
}

const (
	auditScan = 2000 // entries that one call reads, however few match
	auditPage = 256  // maximum entries per read
)

// List returns the entries that by may see and that match f, newest first, at most limit. cursor
// is empty at first, then the next of the previous call; next is empty at the end. A page may hold
// fewer entries without being the last, because a call reads a bounded number of entries.
func (a *Audit) List(ctx context.Context, by Principal, f AuditFilter, cursor string, limit int) (page []AuditEntry,
	next string, err error) {
	after, err := f.start(cursor)
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	size := min(limit+1, auditPage)
	for seen := 0; seen < auditScan; seen += size {
		found, err := a.table.List(ctx, "", after, size)
		if err != nil {
			return nil, "", fmt.Errorf("audit: %w", err)
		}
		for i, e := range found {
			if !f.From.IsZero() && e.Value.At.Before(f.From) {
				return page, "", nil // and so are all that follow
			}
			if f.matches(&e.Value) && seesEntry(by, &e.Value) {
				page = append(page, e.Value)
			}
			if after = e.Name; len(page) >= limit && (i < len(found)-1 || len(found) == size) {
				return page, after, nil
			}
		}
		if len(found) < size {
			return page, "", nil
		}
		size = auditPage // few match
	}
	return page, after, nil
}

// start returns the name after which to begin.
func (f *AuditFilter) start(cursor string) (string, error) {
	if cursor == "" {
		if f.To.IsZero() {
			return "", nil
		}
		return nameAt(f.To.Add(time.Millisecond)), nil // To may lie within a millisecond
	}
	if _, err := ulid.ParseStrict(cursor); err != nil {
		return "", &weir.FieldError{Code: "bad_cursor", Field: "cursor", Problem: "is not a cursor that a list returned",
			Fix: "leave it out to start from the beginning"}
	}
	return strings.ToUpper(cursor), nil
}

// seesEntry hides entries without a tenant from principals that are limited to some tenants.
func seesEntry(by Principal, e *AuditEntry) bool {
	if e.Tenant == "" {
		return by.SeesAll()
	}
	return by.Sees(e.Tenant)
}

// Prune removes the entries before a time and those beyond the newest keep; a zero time or number
// removes none. It returns how many it removed.
func (a *Audit) Prune(ctx context.Context, before time.Time, keep int) (removed int, err error) {
	if !before.IsZero() {
		if removed, err = a.removeAfter(ctx, nameAt(before)); err != nil {
			return removed, err
		}
	}
	if keep <= 0 {
		return removed, nil
	}
	last, err := a.nth(ctx, keep)
	if err != nil || last == "" {
		return removed, err
	}
	more, err := a.removeAfter(ctx, last)
	return removed + more, err
}

// nth returns the name of the n-th newest entry; empty if there are not more than n.
func (a *Audit) nth(ctx context.Context, n int) (string, error) {
	last, seen := "", 0
	for e, err := range a.table.All(ctx, "") {
		if err != nil && e.Name == "" { // a damaged entry counts as one
			return "", fmt.Errorf("audit: %w", err)
		}
		if seen++; seen > n {
			return last, nil
		}
		last = e.Name
	}
	return "", nil
}

func (a *Audit) removeAfter(ctx context.Context, name string) (removed int, err error) {
	for {
		found, err := a.table.List(ctx, "", name, auditPage)
		if err != nil {
			return removed, fmt.Errorf("audit: %w", err)
		}
		for _, e := range found {
			err := a.table.Delete(ctx, e.Name)
			if err != nil && !errors.Is(err, weir.ErrNotFound) { // another node prunes, too
				return removed, fmt.Errorf("audit: %w", err)
			}
			removed++
		}
		if len(found) < auditPage {
			return removed, nil
		}
	}
}
