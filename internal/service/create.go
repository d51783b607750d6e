package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/schedule"
)

// Made holds the options of a new bulk action that are not part of its request.
type Made struct {
	// ID is an id from [Service.NewID]: creating it again changes nothing. Default: a new id.
	ID string
	// Schedule and Slot name the schedule that creates it, and the slot.
	Schedule string
	Slot     time.Time
	// By is the id of the API key that creates it. Uploads by a key without a single tenant belong to
	// the key.
	By string
	// From is the template of the bulk action it is cloned from.
	From *api.MadeFrom
}

// NewID returns an id for a bulk action to be created.
func (s *Service) NewID(ctx context.Context, tenant string) (string, error) {
	id, err := s.engine.NewID(ctx, tenant)
	return string(id), err
}

// KeysLost returns why a request must not run if its Idempotency-Key is not in the store: the
// store lost accepted work, and the key may be part of it.
func (s *Service) KeysLost() error { return s.engine.Lost("the idempotency key") }

// Create creates a draft, or submits the bulk action at once if the items are in the request. If
// it fails, nothing is left, unless the error comes from the store.
func (s *Service) Create(ctx context.Context, n api.NewBulkAction, made Made) (api.BulkAction, error) {
	tenant := cmp.Or(n.Tenant, "default")
	n, from, err := s.resolve(ctx, n, tenant, made)
	if err != nil {
		return s.orMade(ctx, made.ID, err)
	}
	now := time.Now().UTC()
	d := draft{Spec: n, Tenant: tenant, Created: now, Touched: now, State: isDraft, Schedule: made.Schedule, Slot: made.Slot, Start: n.Start, From: from}
	if err := s.checkDraft(&d, made.By, now); err != nil {
		return s.orMade(ctx, made.ID, err) // its upload is removed once it was created
	}
	if err := s.checkNames(ctx, n.Callback); err != nil {
		return api.BulkAction{}, err
	}
	if err := s.roomToCreate(ctx, &d, made); err != nil {
		return api.BulkAction{}, err
	}
	id := made.ID
	if id == "" {
		id, err = s.NewID(ctx, d.Tenant)
	} else if b, there := s.engine.Get(ctx, weir.BulkID(id)); there == nil { // it was created before, and is not a draft any more
		return s.view(ctx, b)
	}
	if err != nil {
		return api.BulkAction{}, err
	}
	if d.Spec.Callback, err = s.sealCallback(id, n.Callback); err != nil {
		return api.BulkAction{}, err
	}
	if items := d.Spec.Items; len(items) > 0 {
		d.Spec.Items = nil
		return s.submitAtOnce(ctx, id, &d, items)
	}
	if n.Source != nil && (n.Start || !d.StartAt.IsZero()) {
		d.State = isScheduled
	}
	if err := s.useUpload(ctx, id, d.Spec.Source); err != nil {
		return s.orMade(ctx, made.ID, err)
	}
	if _, err = s.drafts.Insert(ctx, id, d); err != nil && !errors.Is(err, records.ErrExists) { // by an earlier attempt
		return api.BulkAction{}, fmt.Errorf("create: %w", err)
	}
	if d.State == isScheduled {
		s.look()
	}
	return s.Get(ctx, id)
}

// orMade returns the bulk action that an earlier attempt of the request created, or err if it did
// not.
func (s *Service) orMade(ctx context.Context, id string, err error) (api.BulkAction, error) {
	if id == "" {
		return api.BulkAction{}, err
	}
	b, missing := s.engine.Get(ctx, weir.BulkID(id))
	if missing != nil {
		return api.BulkAction{}, err
	}
	return s.view(ctx, b)
}

// submitAtOnce submits a bulk action whose items are in the request, without a draft: it is
// accepted whole or not at all.
func (s *Service) submitAtOnce(ctx context.Context, id string, d *draft, items []api.Item) (api.BulkAction, error) {
	how := s.howTo(d)
	items, bad, err := how.fitting(items)
	if err != nil {
		return api.BulkAction{}, err
	}
	all := s.atMost(inline(items))
	if err := engine.CheckItems(duplicateRule(d.Spec.Duplicates), all); err != nil { // before anything is written
		return api.BulkAction{}, err
	}
	sum := draftSum{tally: tally{items: int64(len(items)), badLines: bad}, sealed: &seal{Start: d.Start}}
	b, err := s.submit(ctx, id, d, sum, all)
	if err != nil {
		return api.BulkAction{}, err
	}
	return s.view(ctx, b)
}

// inline yields the items of a request.
func inline(items []api.Item) iter.Seq2[weir.RawItem, error] {
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

// Refused reports whether an error means that nothing was done and nothing will be.
func Refused(err error) bool {
	var full *weir.BacklogError
	return refusedAtAll(err) || errors.As(err, &full)
}

func refusedAtAll(err error) bool {
	var r *Refusal
	return refused(err) || errors.As(err, &r)
}

// checkDraft collects everything that is wrong with a request of an API key.
func (s *Service) checkDraft(d *draft, by string, now time.Time) error {
	n := &d.Spec
	var bad weir.InputError
	checkText(&bad, "name", n.Name)
	checkText(&bad, "tenant", d.Tenant)
	checkLabels(&bad, n.Labels)
	s.checkSteps(d.Tenant, n.Steps, n.Params, &bad)
	if n.StartAt != "" {
		at, note, err := schedule.ParseStart("start_at", n.StartAt, n.Zone, now)
		if err != nil {
			addFault(&bad, err, "bad_time", "start_at")
		}
		d.StartAt, d.Note = at.UTC(), note
	}
	if n.Start && n.StartAt != "" {
		bad.Add("bad_value", "start_at", "cannot be combined with start", "keep one of start and start_at")
	}
	if len(n.Items) > 0 && n.Source != nil {
		bad.Add("bad_request", "source", "cannot be combined with items", "leave one of them out")
	}
	if n.Source != nil {
		if err := s.checkSource(n, d.Tenant, by); err != nil {
			addFault(&bad, err, "bad_source", "source")
		}
	}
	if n.Callback != nil {
		s.checkCallback(&bad, n.Callback)
	}
	if n.KeepFor != 0 && (time.Duration(n.KeepFor) < time.Minute || time.Duration(n.KeepFor) > 10*365*24*time.Hour) {
		bad.Add("out_of_range", "keep_for", fmt.Sprintf("%v is not between 1m and 10 years", n.KeepFor), "leave it out for the server's default")
	}
	if !n.Deadline.IsZero() && !d.StartAt.IsZero() && !n.Deadline.After(d.StartAt) {
		bad.Add("out_of_range", "deadline", "is not after start_at", "choose a later deadline")
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return s.checkByEngine(d)
}

// roomToCreate refuses inline items that the seal would refuse, before anything is written. A
// repeat of an accepted request finds its bulk action.
func (s *Service) roomToCreate(ctx context.Context, d *draft, made Made) error {
	if len(d.Spec.Items) == 0 {
		return nil
	}
	err := s.engine.Room(d.Tenant, int64(len(d.Spec.Items)))
	if err != nil && made.ID != "" {
		if _, missing := s.Get(ctx, made.ID); missing == nil {
			return nil
		}
	}
	return err
}

// lookUpFor bounds a name lookup while a client waits.
const lookUpFor = 2 * time.Second

// checkNames refuses a callback whose host name resolves to a forbidden address. Each connect
// checks again, because names may resolve differently later.
func (s *Service) checkNames(ctx context.Context, c *api.Callback) error {
	if c == nil {
		return nil
	}
	u, err := s.opts.Guard.CheckURL("callback.url", c.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	return s.opts.Guard.CheckName(ctx, "callback.url", u)
}

// checkByEngine lets the engine check what the draft will submit to it.
func (s *Service) checkByEngine(d *draft) error {
	def, spec, err := s.spec(d)
	if err != nil {
		return err
	}
	return s.engine.CheckSpec(def, spec)
}

// checkLabels checks the names and values of labels: lists and logs show them unchanged.
func checkLabels(bad *weir.InputError, labels map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		checkPrintable(bad, fmt.Sprintf("labels[%.64q]", name), name)
		checkPrintable(bad, fmt.Sprintf("labels[%.64q]", name), labels[name])
	}
}

func checkText(bad *weir.InputError, field, text string) {
	if checkPrintable(bad, field, text) && len(text) > 128 {
		bad.Add("bad_text", field, fmt.Sprintf("has %d bytes, more than 128", len(text)), "shorten it")
	}
}

// checkPrintable refuses control characters and invalid UTF-8, and reports whether the text is
// fine.
func checkPrintable(bad *weir.InputError, field, text string) bool {
	for i, r := range text {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			bad.Add("bad_text", field, fmt.Sprintf("has a control character, or is not UTF-8, at byte %d", i), "use printable characters")
			return false
		}
	}
	return true
}

// once records which bulk action a key created.
type once struct {
	ID string `json:"id"`
}

// CreateOnce is Create with a key: called again with the same key, also on another node or after a
// crash, it creates nothing and returns the same id.
func (s *Service) CreateOnce(ctx context.Context, key string, n api.NewBulkAction, made Made) (string, error) {
	table := records.New[once](s.opts.Store, "once")
	id, err := s.NewID(ctx, n.Tenant)
	if err != nil {
		return "", err
	}
	e, err := table.Get(ctx, key)
	if errors.Is(err, weir.ErrNotFound) {
		if err = s.KeysLost(); err == nil {
			e, err = table.Insert(ctx, key, once{ID: id})
		}
	}
	if err != nil && !errors.Is(err, records.ErrExists) {
		return "", err
	}
	made.ID = e.Value.ID
	if there, err := s.isMade(ctx, made.ID); there || err != nil {
		return made.ID, err
	}
	if _, err = s.Create(ctx, n, made); err == nil {
		return made.ID, nil
	}
	if there, other := s.isMade(ctx, made.ID); other == nil && there { // another node was first
		return made.ID, nil
	}
	return made.ID, err
}

// isMade reports whether a bulk action needs no further call to become what was requested: it was
// submitted, or it is a draft that reads its source on its own.
func (s *Service) isMade(ctx context.Context, id string) (bool, error) {
	_, err := s.engine.Get(ctx, weir.BulkID(id))
	if err == nil || errors.Is(err, weir.ErrExpired) {
		return true, nil
	}
	if !errors.Is(err, weir.ErrNotFound) {
		return false, err
	}
	d, err := s.getDraft(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return false, nil
	}
	return err == nil && (d.Spec.Source != nil || d.State == isCancelled), err
}
