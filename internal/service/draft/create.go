package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
)

// Made holds the options of a new bulk action that are not part of its request.
type Made struct {
	// ID is an id from [Service.NewID]: creating it again changes nothing. Default: a new id.
	ID string
	// First says that nothing can have been made under the ID: it is not looked for.
	First bool
	// Schedule and Slot name the schedule that creates it, and the slot.
	Schedule string
	Slot     time.Time
	// By is the id of the API key that creates it. Uploads by a key without a single tenant belong to
	// the key.
	By string
	// From is the template of the bulk action it is cloned from.
	From *stored.MadeFrom
	// Items yields the items of a caller in the same process, instead of those of the request. They are read once.
	Items iter.Seq2[weir.RawItem, error]
}

// Creates makes drafts and bulk actions.
type Creates struct {
	*kept
	*files
	*rules
	*Appends
	*Seals
	templates *registry.Templates
	vault     *vault.Vault
	once      *records.Table[once]
	wake      func() // the keeper of the drafts
}

// NewID returns an id for a bulk action to be created.
func (s *kept) NewID(ctx context.Context, tenant string) (string, error) {
	id, err := s.intake.NewID(ctx, tenant)
	return string(id), err
}

// KeysLost returns why a request must not run if its Idempotency-Key is not in the store: the
// store lost accepted work, and the key may be part of it.
func (s *kept) KeysLost() error { return s.engine.Lost("the idempotency key") }

// Create creates a draft, or submits the bulk action at once if the items are in the request; then it
// returns the bulk action, too. If it fails, nothing is left, unless the error comes from the store.
func (s *Creates) Create(ctx context.Context, n stored.Spec, made Made) (id string, b *engine.BulkAction, err error) {
	tenant := cmp.Or(n.Tenant, "default")
	given, chosen := givenTo(&n), chosenIn(&n)
	if made.From != nil && len(n.Columns) > 0 { // a clone
		chosen = &stored.Chosen{Columns: n.Columns}
	}
	n, from, err := s.resolve(ctx, n, tenant, made)
	if err != nil {
		return s.orMade(ctx, made.ID, err)
	}
	now := time.Now().UTC()
	d := Draft{Spec: n, Tenant: tenant, Touched: now, State: Editing, Schedule: made.Schedule,
		Slot: made.Slot, Start: n.Start, From: from, Given: given, Chosen: chosen}
	if err := s.checkDraft(&d, made.By, now); err != nil {
		return s.orMade(ctx, made.ID, err) // its upload is removed once it was created
	}
	if err := s.checkNames(ctx, n.Callback); err != nil {
		return "", nil, err
	}
	if err := s.roomToCreate(ctx, &d, made); err != nil {
		return "", nil, err
	}
	id = made.ID
	if id == "" {
		id, err = s.NewID(ctx, d.Tenant)
	} else if !made.First {
		if b, there := s.engine.Get(ctx, weir.BulkID(id)); there == nil { // it was created before, and is not a draft any more
			return id, b, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	if d.Spec.Callback, err = n.Callback.Seal(s.vault, id); err != nil {
		return "", nil, err
	}
	if made.Items != nil {
		how := s.howTo(&d)
		b, err := s.submit(ctx, id, &d, Sum{sealed: &seal{Start: d.Start}}, s.atMost(how.read(made.Items)))
		return id, b, err
	}
	if items := d.Spec.Items; len(items) > 0 {
		d.Spec.Items = nil
		b, err := s.submitAtOnce(ctx, id, &d, items)
		return id, b, err
	}
	if n.Source != nil && (n.Start || !d.StartAt.IsZero()) {
		d.State = Scheduled
	}
	if err := s.useUpload(ctx, id, d.Spec.Source); err != nil {
		return s.orMade(ctx, made.ID, err)
	}
	if _, err = s.drafts.Insert(ctx, id, d); err != nil && !errors.Is(err, records.ErrExists) { // by an earlier attempt
		return "", nil, fmt.Errorf("create: %w", err)
	}
	if d.State == Scheduled {
		s.wake()
	}
	return id, nil, nil
}

// orMade returns the bulk action that an earlier attempt of the request created, or err if it did
// not.
func (s *Creates) orMade(ctx context.Context, id string, err error) (string, *engine.BulkAction, error) {
	if id == "" {
		return "", nil, err
	}
	b, missing := s.engine.Get(ctx, weir.BulkID(id))
	if missing != nil {
		return "", nil, err
	}
	return id, b, nil
}

// submitAtOnce submits a bulk action whose items are in the request, without a draft: it is
// accepted whole or not at all.
func (s *Creates) submitAtOnce(ctx context.Context, id string, d *Draft, items []stored.Item) (*engine.BulkAction, error) {
	how := s.howTo(d)
	items, bad, err := how.fitting(items)
	if err != nil {
		return nil, err
	}
	all := s.atMost(inline(items))
	if err := ingest.CheckItems(duplicateRule(d.Spec.Duplicates), all); err != nil { // before anything is written
		return nil, err
	}
	sum := Sum{Tally: Tally{Items: int64(len(items)), BadLines: bad}, sealed: &seal{Start: d.Start}}
	return s.submit(ctx, id, d, sum, all)
}

// inline yields the items of a request.
func inline(items []stored.Item) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for _, it := range items {
			if !yield(weir.RawItem{ID: it.ID, Value: orObject(it.Data)}, nil) {
				return
			}
		}
	}
}

// orObject returns a document, or an empty object if it is missing.
func orObject(data []byte) []byte {
	if len(data) == 0 {
		return []byte("{}")
	}
	return data
}

// roomToCreate refuses inline items that the seal would refuse, before anything is written. A
// repeat of an accepted request finds its bulk action.
func (s *Creates) roomToCreate(ctx context.Context, d *Draft, made Made) error {
	if len(d.Spec.Items) == 0 {
		return nil
	}
	err := s.intake.Room(d.Tenant, int64(len(d.Spec.Items)))
	if err != nil && made.ID != "" {
		if there, _ := s.exists(ctx, made.ID); there {
			return nil
		}
	}
	return err
}

// once records which bulk action a key created.
type once struct {
	ID string `json:"id"`
}

// CreateOnce is Create with a key: called again with the same key, also on another node or after a
// crash, it creates nothing and returns the same id.
func (s *Creates) CreateOnce(ctx context.Context, key string, n stored.Spec, made Made) (string, error) {
	id, err := s.NewID(ctx, n.Tenant)
	if err != nil {
		return "", err
	}
	e, err := s.once.Get(ctx, key)
	if errors.Is(err, weir.ErrNotFound) {
		if err = s.KeysLost(); err == nil {
			e, err = s.once.Insert(ctx, key, once{ID: id})
		}
	}
	if err != nil && !errors.Is(err, records.ErrExists) {
		return "", err
	}
	made.ID = e.Value.ID
	if there, err := s.isMade(ctx, made.ID); there || err != nil {
		return made.ID, err
	}
	if _, _, err = s.Create(ctx, n, made); err == nil {
		return made.ID, nil
	}
	if there, other := s.isMade(ctx, made.ID); other == nil && there { // another node was first
		return made.ID, nil
	}
	return made.ID, err
}

// isMade reports whether a bulk action needs no further call to become what was requested: it was
// submitted, or it is a draft that reads its source on its own.
func (s *kept) isMade(ctx context.Context, id string) (bool, error) {
	_, err := s.engine.Get(ctx, weir.BulkID(id))
	if err == nil || errors.Is(err, weir.ErrExpired) {
		return true, nil
	}
	if !errors.Is(err, weir.ErrNotFound) {
		return false, err
	}
	d, err := s.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return false, nil
	}
	return err == nil && (d.Spec.Source != nil || d.State == Cancelled), err
}

// resolve returns a request with its template applied, and which template that was. A request that
// is repeated after a crash gets the result of its first attempt: the template may have changed or
// be gone.
func (s *Creates) resolve(ctx context.Context, n stored.Spec, tenant string, made Made) (stored.Spec, *stored.MadeFrom, error) {
	if n.Template == "" {
		return n, made.From, nil
	}
	if made.ID != "" {
		d, err := s.Get(ctx, made.ID)
		if err == nil {
			spec := d.Spec
			spec.Items = n.Items
			spec.Callback, err = spec.Callback.Open(s.vault, made.ID)
			return spec, d.From, err
		}
		if !errors.Is(err, weir.ErrNotFound) {
			return n, nil, err
		}
	}
	return s.templates.Apply(ctx, n, tenant)
}

// exists reports whether an id belongs to a draft or a bulk action.
func (s *kept) exists(ctx context.Context, id string) (bool, error) {
	_, err := s.engine.Get(ctx, weir.BulkID(id))
	if errors.Is(err, weir.ErrNotFound) {
		_, err = s.Get(ctx, id)
	}
	return err == nil, err
}
