package server

import (
	"context"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/result"
	"github.com/weirhq/weir/report"
)

func (s *Server) itemRoutes() {
	tag := "items"
	add(s, get(access.Read, "bulk_action.items", bulkPath+"/{id}/items", tag,
		"List the items of a bulk action and their results").
		about("Items come in the order of the input. A page may have fewer entries than limit, or none, even if has_more is true: "+
			"a page covers a bounded part of the bulk action. Items in flight are shown as ready."), ofBulk(s, s.listItems))
	add(s, get(access.Read, "item.get", "/v1/items/{item}", tag, "Get the history of an item, step by step").
		about("The id of an item is `itm_`, the id of its bulk action without `ba_`, a hyphen, and its number there, from 0."), s.getItem)
	add(s, ask(access.Read, "item.lookup", "/v1/items/lookup", tag,
		"Look up the history of one of your own ids in all bulk actions").
		about("This is a POST because your ids may be personal data, which must not be in URLs. It changes nothing."), s.lookup)
}

type itemsInput struct {
	BulkID
	Paging
	State string `query:"state" enum:"ready,waiting,done,failed,cancelled"`
	Step  string `query:"step" maxLength:"128" doc:"The step at which the item ended or is now"`
	Code  string `query:"code" maxLength:"128" doc:"Error code"`
}

func (s *Server) listItems(ctx context.Context, in *itemsInput) (*body[api.Page[api.ItemResult]], error) {
	place, err := openCursor(in.Cursor, "items", in.ID, in.State, in.Step, in.Code)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	if place != "" {
		at, _ = strconv.ParseInt(place, 10, 64) // it is our own
	}
	list, next, err := s.svc.Results.Items(ctx, in.ID, result.ItemFilter{State: report.State(in.State), Step: in.Step,
		Code: in.Code}, at, in.Limit)
	if err != nil {
		return nil, err
	}
	place = ""
	if next >= 0 {
		place = strconv.FormatInt(next, 10)
	}
	return answer(pageWith(list, place, "items", in.ID, in.State, in.Step, in.Code), nil)
}

type itemInput struct {
	Item string `path:"item" example:"itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41"`
}

func (s *Server) getItem(ctx context.Context, in *itemInput) (*body[api.ItemResult], error) {
	bulk, no, err := bulk.ParseItemName(in.Item)
	if err != nil {
		return nil, err
	}
	if _, err := s.mine(ctx, bulk); err != nil {
		return nil, err
	}
	return answer(s.svc.Results.Item(ctx, bulk, no))
}

func (s *Server) lookup(ctx context.Context, in *request[api.Lookup]) (*body[api.Found], error) {
	tenants, err := tenantsFor(ctx, in.Body.Tenant)
	if err != nil {
		return nil, err
	}
	return answer(s.svc.Results.Lookup(ctx, in.Body, tenants))
}

// tenantsFor returns the tenants to search for the caller; nil means all. A tenant that the caller cannot see has no results.
func tenantsFor(ctx context.Context, tenant string) ([]string, error) {
	who := caller(ctx)
	switch {
	case tenant != "" && !who.Sees(tenant):
		return nil, &weir.FieldError{Code: "bad_value", Field: "tenant", Problem: "the key is not for this tenant",
			Fix: "leave it out, or use another key"}
	case tenant != "":
		return []string{tenant}, nil
	case who.SeesAll():
		return nil, nil
	}
	return who.Tenants, nil
}
