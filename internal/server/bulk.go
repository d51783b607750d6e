package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/records"
)

const bulkPath = "/v1/bulk-actions"

// BulkID is the id in a path. It is exported for huma, which sees no other embedded types.
type BulkID struct {
	ID string `path:"id" doc:"Id of the bulk action" example:"ba_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

func (b BulkID) bulkID() string { return b.ID }

// about is a request about a bulk action, with a body.
type about[B any] struct {
	BulkID
	Body B
}

// ofBulk serves a bulk action that the caller sees.
func ofBulk[I interface{ bulkID() string }, O any](s *Server,
	do func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		if _, err := s.mine(ctx, (*in).bulkID()); err != nil {
			return nil, err
		}
		return do(ctx, in)
	}
}

// byID serves a bulk action that the caller sees, by a function of its id.
func byID[T any](s *Server, do func(context.Context, string) (T, error)) func(context.Context, *BulkID) (*body[T], error) {
	return ofBulk(s, func(ctx context.Context, in *BulkID) (*body[T], error) { return answer(do(ctx, in.ID)) })
}

// withBody serves a bulk action that the caller sees, by a function of its id and of a body that may be missing.
func withBody[B, T any](s *Server, do func(context.Context, string, B) (T, error)) func(context.Context,
	*about[*B]) (*body[T], error) {
	return ofBulk(s, func(ctx context.Context, in *about[*B]) (*body[T], error) {
		return answer(do(ctx, in.ID, orZero(in.Body)))
	})
}

func (s *Server) bulkRoutes() {
	tag := bulkTag
	add(s, post(access.Submit, "bulk_action.create", bulkPath, tag, "Create a bulk action").creates().
		about("Creates a draft to which items can be added. If the request has items or a source, the bulk action is "+
			"complete without further items. "+
			"With a template, the template defines steps and rules; the request sets its parameters, and may set name, tenant, "+
			"labels, items, source, item_id, tier, priority, start, start_at and deadline."), s.createBulk)
	add(s, get(access.Read, "bulk_action.list", bulkPath, tag, "List bulk actions, the newest first").
		about("A page may have fewer entries than limit, or none, even if has_more is true: a search in names looks at a bounded "+
			"number. Bulk actions are in the order of created_at, and nothing is read of those before created_after."), s.listBulk)
	add(s, get(access.Read, "bulk_action.get", bulkPath+"/{id}", tag, "Get a bulk action").
		about("The ETag covers the rules that can be changed. It changes with them, and stays the same while counts change."), s.getBulk)
	add(s, patch(access.Control, "bulk_action.change", bulkPath+"/{id}", tag,
		"Change the rules of a bulk action, also while it runs").
		about("With If-Match the rules are changed only if they still have this ETag: of several changes with the same ETag "+
			"one succeeds, and the others get 412. "+
			"If the node that runs the bulk action does not apply the change within a second, the response is `in_progress`: "+
			"read the bulk action again to see whether the change was made. "+
			"Without If-Match the last change wins."), s.changeBulk)
	add(s, del(access.Submit, "bulk_action.delete", bulkPath+"/{id}", tag, "Delete a draft"), ofBulk(s, s.deleteBulk))
	add(s, post(access.Submit, "bulk_action.seal", bulkPath+"/{id}/seal", tag, "Seal a draft"), ofBulk(s, s.sealBulk))
	add(s, post(access.Submit, "bulk_action.start", bulkPath+"/{id}/start", tag,
		"Start a bulk action, now or later"), ofBulk(s, s.startBulk))
	for _, v := range verbs {
		add(s, post(v.scope, "bulk_action."+v.name, bulkPath+"/{id}/"+v.name, tag, v.summary), ofBulk(s, s.verb(v)))
	}
}

func (s *Server) createBulk(ctx context.Context, in *request[api.NewBulkAction]) (*made[api.BulkAction], error) {
	n := in.Body
	tenant, err := s.tenantOf(ctx, &n)
	if err != nil {
		return nil, err
	}
	n.Tenant = tenant
	id, err := s.reserve(ctx, func() (string, error) { return s.svc.Drafts.NewID(ctx, tenant) })
	if err != nil {
		return nil, err
	}
	b, err := s.svc.Bulks.Create(ctx, n, draft.Made{ID: id, First: !visitOf(ctx).again, By: caller(ctx).KeyID})
	if err != nil {
		return nil, err
	}
	changed(ctx, b.ID, b.Tenant)
	return &made[api.BulkAction]{s.at(bulkPath + "/" + b.ID), s.WithLinks(b)}, nil
}

// reserve makes the id of what a request creates. With an Idempotency-Key it is
// noted first: doing the request again after a crash makes the same thing.
func (s *Server) reserve(ctx context.Context, newID func() (string, error)) (string, error) {
	id, err := newID()
	try := visitOf(ctx).try
	if err != nil || try == nil {
		return id, err
	}
	visitOf(ctx).begun = true
	var lost error
	e, err := s.answers.UpdateFrom(ctx, try.entry, func(m *remembered) error {
		if lost = nil; m.ID == "" {
			m.ID, lost = id, s.svc.Drafts.KeysLost()
		}
		return lost
	})
	if err == nil {
		try.entry = e
	}
	return e.Value.ID, cmp.Or(lost, err)
}

// tenantFor says whose something is: the key's own tenant if it has one, and one that the key sees in any case.
func tenantFor(ctx context.Context, field, tenant string) (string, error) {
	who := caller(ctx)
	switch {
	case tenant == "" && len(who.Tenants) == 1:
		return who.Tenants[0], nil
	case tenant == "" && !who.SeesAll():
		return "", &weir.FieldError{Code: "missing_field", Field: field, Problem: "the key has several tenants", Fix: "say which"}
	case tenant == "":
		return "default", nil
	case !who.Sees(tenant):
		return "", &weir.FieldError{Code: "bad_value", Field: field, Problem: "the key is not for this tenant",
			Fix: "leave it out, or use another key"}
	}
	return tenant, nil
}

// changed notes for the audit what was changed.
func changed(ctx context.Context, target, tenant string) {
	v := visitOf(ctx)
	v.target, v.tenant = target, tenant
}

// mine finds a bulk action that the caller sees. Another's is as if there were none.
func (s *Server) mine(ctx context.Context, id string) (api.BulkAction, error) {
	b, err := s.svc.Bulks.Get(ctx, id)
	if err == nil && !caller(ctx).Sees(b.Tenant) {
		return api.BulkAction{}, weir.ErrNotFound
	}
	if err == nil {
		changed(ctx, id, b.Tenant)
	}
	return b, err
}

type listInput struct {
	Paging
	State  []string `query:"state" nullable:"false" enum:"draft,importing,sealed,scheduled,running,awaiting_approval,paused,stopped,cancelling,cancelled,completed,failed" doc:"One state, or several with commas between them"`
	Tenant string   `query:"tenant" maxLength:"128"`
	Name   string   `query:"name" maxLength:"128" doc:"Words of the name, or how they begin, in any case and order"`
	Label  string   `query:"label" maxLength:"320" doc:"key=value, or key for any value"`
	// Template is one that there need not be any more.
	Template      string    `query:"template" maxLength:"128" doc:"Name of the template"`
	RetryOf       string    `query:"retry_of" maxLength:"64" doc:"Only retries of the bulk action with this id"`
	UndoOf        string    `query:"undo_of" maxLength:"64" doc:"Only the undo of the bulk action with this id"`
	CreatedAfter  time.Time `query:"created_after" doc:"Only bulk actions created at or after this time"`
	CreatedBefore time.Time `query:"created_before" doc:"Only bulk actions created before this time"`
	Progress      bool      `query:"progress" doc:"Adds the progress of each bulk action that has not ended"`
}

// filters holds the filters that a cursor belongs to.
func (in *listInput) filters() []string {
	return []string{"bulk", strings.Join(in.State, ","), in.Tenant, in.Name, in.Label, in.Template, in.RetryOf, in.UndoOf,
		in.CreatedAfter.Format(time.RFC3339Nano), in.CreatedBefore.Format(time.RFC3339Nano)}
}

// check refuses times between which nothing is.
func (in *listInput) check() error {
	if in.CreatedAfter.IsZero() || in.CreatedBefore.IsZero() || in.CreatedAfter.Before(in.CreatedBefore) {
		return nil
	}
	return &weir.FieldError{Code: "bad_filter", Field: "created_after", Problem: fmt.Sprintf("%s is not before created_before, %s",
		in.CreatedAfter.Format(time.RFC3339Nano), in.CreatedBefore.Format(time.RFC3339Nano)), Fix: "swap them, or leave one out"}
}

func states(names []string) (all []api.State) {
	for _, name := range names {
		all = append(all, api.State(name))
	}
	return all
}

func (s *Server) listBulk(ctx context.Context, in *listInput) (*body[api.Page[api.BulkAction]], error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	before, err := openCursor(in.Cursor, in.filters()...)
	if err != nil {
		return nil, err
	}
	who := caller(ctx)
	f := bulk.Filter{Sees: who.Sees, Tenants: who.Tenants, States: states(in.State), Tenant: in.Tenant, Name: in.Name, Label: in.Label,
		Template: in.Template, RetryOf: in.RetryOf, UndoOf: in.UndoOf, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore}
	list, next, err := s.svc.Bulks.List(ctx, f, before, in.Limit)
	if err != nil {
		return nil, err
	}
	if err := s.svc.Results.AddUndos(ctx, list); err != nil {
		return nil, err
	}
	if in.Progress {
		if err := s.svc.Watch.AddProgress(ctx, list); err != nil {
			return nil, err
		}
	}
	page := api.Page[api.BulkAction]{Data: orEmpty(s.linkAll(list)), HasMore: next != "", Note: s.svc.Bulks.ListNote()}
	if next != "" {
		page.NextCursor = sealCursor(next, in.filters()...)
	}
	return answer(page, nil)
}

func (s *Server) getBulk(ctx context.Context, in *BulkID) (*tagged[api.BulkAction], error) {
	b, err := s.mine(ctx, in.ID)
	if err == nil {
		err = s.svc.Results.AddLinks(ctx, &b)
	}
	if err == nil {
		err = s.svc.Results.AddRetried(ctx, &b)
	}
	if err == nil {
		err = s.svc.Results.AddOpen(ctx, &b)
	}
	return s.taggedBulk(b, err)
}

// taggedBulk is an answer with the version of the rules.
func (s *Server) taggedBulk(b api.BulkAction, err error) (*tagged[api.BulkAction], error) {
	return answerTagged(s.WithLinks(b), bulk.RulesVersion(&b), err)
}

func (s *Server) deleteBulk(ctx context.Context, in *BulkID) (*struct{}, error) {
	return nil, s.svc.Drafts.Delete(ctx, in.ID)
}

type changeInput struct {
	BulkID
	IfMatch
	Body api.Change
}

func (s *Server) changeBulk(ctx context.Context, in *changeInput) (*tagged[api.BulkAction], error) {
	before, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var match records.Match
	if in.IfMatch.IfMatch != "" {
		match = Conditions{IfMatch: in.IfMatch.IfMatch}.match
	}
	after, err := s.svc.Bulks.Change(ctx, in.ID, &in.Body, match)
	visitOf(ctx).before, visitOf(ctx).after = before.Rules, after.Rules
	return s.taggedBulk(after, err)
}

func (s *Server) sealBulk(ctx context.Context, in *about[*api.Seal]) (*body[api.BulkAction], error) {
	want := orZero(in.Body)
	_, err := s.svc.Drafts.Seal(ctx, in.ID, want)
	if twice := (*weir.DuplicateError)(nil); errors.As(err, &twice) {
		return nil, ofTwice(twice, newDraft)
	}
	if err != nil {
		return nil, err
	}
	return s.answerBulk(s.svc.Bulks.Get(ctx, in.ID))
}

func (s *Server) startBulk(ctx context.Context, in *about[*api.Start]) (*body[api.BulkAction], error) {
	want := orZero(in.Body)
	b, did, err := s.svc.Bulks.Start(ctx, in.ID, want)
	return s.orDone(ctx, in.ID, b, did, err)
}

// orDone is the answer to a command. One that is repeated because its first try
// was cut off may find that it was carried out: that is not a refusal, and it is the change of this request.
func (s *Server) orDone(ctx context.Context, id string, b api.BulkAction, did bool, err error) (*body[api.BulkAction], error) {
	var r *check.Refusal
	if visitOf(ctx).again && errors.As(err, &r) && slices.Contains([]string{"wrong_state", "already_ended", "sealed"}, r.Code) {
		return s.answerBulk(s.svc.Bulks.Get(ctx, id))
	}
	visitOf(ctx).unchanged = !did && !visitOf(ctx).again
	return s.answerBulk(b, err)
}

// verb is a command without anything but a reason.
type verb struct {
	name, summary string
	scope         access.Scope
	do            func(b *bulk.Bulks, ctx context.Context, id, reason string) (now api.BulkAction, did bool, err error)
}

var verbs = []verb{
	{"pause", "Pause a bulk action; running tasks finish", access.Control, (*bulk.Bulks).Pause},
	{"resume", "Resume a paused or stopped bulk action", access.Control, (*bulk.Bulks).Resume},
	{"cancel", "Cancel a bulk action; it is `cancelling` until running tasks have finished", access.Control, (*bulk.Bulks).Cancel},
	{"approve", "Approve the canary and run the remaining items", access.Approve, (*bulk.Bulks).Approve},
	{"unschedule", "Cancel the scheduled start", access.Submit, (*bulk.Bulks).Unschedule},
}

func (s *Server) verb(v verb) func(context.Context, *about[*api.Verb]) (*body[api.BulkAction], error) {
	return func(ctx context.Context, in *about[*api.Verb]) (*body[api.BulkAction], error) {
		b, did, err := v.do(s.svc.Bulks, ctx, in.ID, orZero(in.Body).Reason)
		return s.orDone(ctx, in.ID, b, did, err)
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
