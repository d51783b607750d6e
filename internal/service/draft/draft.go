package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// Draft is a bulk action that has not been submitted to the engine. Its items
// are in its log; see [part].
type Draft struct {
	Spec    stored.Spec `json:"spec"` // without items
	Tenant  string      `json:"tenant"`
	Touched time.Time   `json:"touched"` // by the last append, approximately: it is not written each time
	StartAt time.Time   `json:"start_at,omitzero"`
	Note    string      `json:"note,omitempty"`
	// Schedule and Slot name the schedule that created it, and the slot.
	Schedule string    `json:"schedule,omitempty"`
	Slot     time.Time `json:"slot,omitzero"`
	// From is the template it was created from.
	From *stored.MadeFrom `json:"from,omitempty"`
	// Given holds the parameters that the request gave the template.
	Given json.RawMessage `json:"given,omitempty"`
	// Chosen holds what the request said about reading the data.
	Chosen *stored.Chosen `json:"chosen,omitempty"`
	// Layout is how the upload is written that it reads; not set: it reads no table, or has not begun.
	Layout *stored.Layout `json:"layout,omitempty"`
	// State is draft, scheduled (its source is read later), importing, sealing, failed, cancelled or
	// submitted.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Start  bool   `json:"start,omitempty"`  // it starts as soon as it is sealed
	Untold bool   `json:"untold,omitempty"` // it has failed, and its event may not have been sent
	Unsure bool   `json:"unsure,omitempty"` // it was cancelled during its submit, which may have succeeded
}

// The states of a draft.
const (
	Editing   = "draft"
	Scheduled = "scheduled"
	Importing = "importing"
	Sealing   = "sealing"
	Failed    = "failed"
	Cancelled = "cancelled"
	Submitted = "submitted" // the engine has it; the rest of the draft is being removed
)

// part is one entry of a draft's log: items that were added, or the seal that ends it. Entries are
// numbered without a gap, and each is written once: of two writers of the same number, one has to
// read again. A source's cursor is in the same entry as the items it produced, so it can neither
// be lost nor be used twice.
type part struct {
	Stage    ingest.Stage `json:"stage,omitzero"`
	BadLines int64        `json:"bad_lines,omitempty"`
	Key      string       `json:"key,omitempty"`    // idempotency key of the append
	Digest   string       `json:"digest,omitempty"` // of its content
	Cursor   string       `json:"cursor,omitempty"` // where the source continues
	Last     bool         `json:"last,omitempty"`   // the source has no more
	Seal     *seal        `json:"seal,omitempty"`
}

// seal ends a draft's log.
type seal struct {
	Start bool      `json:"start,omitempty"`
	At    time.Time `json:"at"`
}

func partName(id string, no int) string { return fmt.Sprintf("%s/%08d", id, no) }

// maxParts bounds how many entries a draft's log has.
const maxParts = 100_000

// draftLog caches the entries of a draft's log that this process has read. The log itself is
// authoritative.
type draftLog struct {
	mu     sync.Mutex // one append of this process at a time writes an entry
	next   int        // number of the first entry that was not read
	Tally  Tally
	byKey  map[string]part
	last   part // the newest entry
	sealed *seal
	used   time.Time
}

// Tally counts the rows that were added to a draft. Each row is in exactly one of the counts.
type Tally struct {
	Items      int64 // staged; ids of different entries are not compared yet
	Duplicates int64 // left out because their id appeared earlier in the same entry
	BadLines   int64 // left out because they are invalid
}

func (t *Tally) add(p *part) {
	t.Items += p.Stage.Items
	t.Duplicates += p.Stage.Duplicates
	t.BadLines += p.BadLines
}

// rows returns how many rows were sent.
func (t *Tally) rows() int64 { return t.Items + t.Duplicates + t.BadLines }

// draftLogs caches the recently used logs.
type draftLogs struct {
	mu   sync.Mutex
	byID map[string]*draftLog
}

// of returns the log of a draft.
func (l *draftLogs) of(id string) *draftLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*draftLog{}
	}
	if len(l.byID) > 1000 {
		for other, log := range l.byID {
			if time.Since(log.used) > time.Minute {
				delete(l.byID, other)
			}
		}
	}
	log := l.byID[id]
	if log == nil {
		log = &draftLog{byKey: map[string]part{}}
		l.byID[id] = log
	}
	log.used = time.Now()
	return log
}

func (l *draftLogs) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

// kept holds drafts and their logs. The other types of this package share it.
type kept struct {
	drafts *records.Table[Draft]
	parts  *records.Table[part]
	logs   draftLogs
	engine *engine.Engine
	intake *ingest.Intake
}

// catchUp reads the entries that other processes have written. The caller holds the log.
func (s *kept) catchUp(ctx context.Context, id string, l *draftLog) error {
	if l.sealed != nil { // a seal may have been withdrawn
		l.next, l.Tally, l.byKey, l.last, l.sealed = 0, Tally{}, map[string]part{}, part{}, nil
	}
	for {
		after := ""
		if l.next > 0 {
			after = partName(id, l.next-1)
		}
		page, err := s.parts.List(ctx, id+"/", after, 1000)
		if err != nil {
			return fmt.Errorf("read draft %s: %w", id, err)
		}
		for _, e := range page {
			l.add(e.Value)
		}
		if len(page) < 1000 {
			return nil
		}
	}
}

func (l *draftLog) add(p part) {
	l.next++
	l.Tally.add(&p)
	l.last, l.sealed = p, p.Seal
	if p.Key != "" {
		l.byKey[p.Key] = p
	}
}

// write adds an entry, unless check refuses. check sees all entries before it.
func (s *kept) write(ctx context.Context, id string, p part, check func(*draftLog) error) error {
	l := s.logs.of(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if err := s.catchUp(ctx, id, l); err != nil {
			return err
		}
		if err := check(l); err != nil {
			return err
		}
		_, err := s.parts.Insert(ctx, partName(id, l.next), p)
		switch {
		case err == nil:
			l.add(p)
			return nil
		case !errors.Is(err, records.ErrExists):
			return fmt.Errorf("write draft %s: %w", id, err)
		}
	}
}

// Sum returns the current sum of a draft's log.
func (s *kept) Sum(ctx context.Context, id string) (sum Sum, err error) {
	l := s.logs.of(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := s.catchUp(ctx, id, l); err != nil {
		return sum, err
	}
	return l.sum(), nil
}

// Sum is the sum of a draft's log at one moment.
type Sum struct {
	parts int
	Tally
	last   part
	sealed *seal
}

func (l *draftLog) sum() Sum { return Sum{l.next, l.Tally, l.last, l.sealed} }

// Get returns a draft, or weir.ErrNotFound.
func (s *kept) Get(ctx context.Context, id string) (Draft, error) {
	e, err := s.drafts.Get(ctx, id)
	return e.Value, err
}

// removeDraft removes a draft with everything staged for it. The record goes last, so that an
// interrupted removal can be finished.
func (s *files) removeDraft(ctx context.Context, id string, d *Draft) error {
	if err := s.dropStages(ctx, id, d); err != nil {
		return err
	}
	if err := s.removeLog(ctx, id); err != nil {
		return err
	}
	return records.IgnoreGone(s.drafts.Delete(ctx, id))
}

// closeDraft removes a draft that was submitted. Its log stays until the sweep: it holds the keys
// of appends for repeats, and its seal refuses an append that began before the seal and ends after
// it. The log of a source has no appends and is removed at once.
func (s *files) closeDraft(ctx context.Context, id string, d *Draft) error {
	if d.Spec.Source != nil {
		return s.removeDraft(ctx, id, d)
	}
	if err := s.dropStages(ctx, id, d); err != nil {
		return err
	}
	return records.IgnoreGone(s.drafts.Delete(ctx, id))
}

// dropStages removes the items that were staged for a draft, except those that the bulk action has adopted. While it is
// not known whether a submit has adopted them, all stay: the next owner of the partition removes what nothing needs.
func (s *files) dropStages(ctx context.Context, id string, d *Draft) error {
	if err := s.releaseUpload(ctx, id); err != nil {
		return err
	}
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	gone := errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired)
	switch {
	case err != nil && !gone:
		return err
	case gone && d.Unsure:
		return nil
	}
	for e, err := range s.parts.All(ctx, id+"/") {
		if err != nil {
			return err
		}
		if st := e.Value.Stage; st.ID != "" && (gone || !b.Adopts(st)) {
			if err := s.intake.DropStage(ctx, st); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLog removes the log of a draft, its seal last.
func (s *kept) removeLog(ctx context.Context, id string) error {
	defer s.logs.forget(id)
	for {
		page, err := s.parts.List(ctx, id+"/", "", 1000)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if err := records.IgnoreGone(s.parts.Delete(ctx, e.Name)); err != nil {
				return err
			}
		}
	}
}
