package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

// Conditions are the headers of a change that depends on what is there; exported for huma.
type Conditions struct {
	IfMatch     string `header:"If-Match" maxLength:"256" doc:"Change it only if it still has this ETag; * matches any"`
	IfNoneMatch string `header:"If-None-Match" maxLength:"256" doc:"With *: create it only if it does not exist"`
}

// match reports whether a record of a version may be replaced; an empty version means that none exists.
func (c Conditions) match(version string) error {
	if c.IfNoneMatch != "" && (version != "" && strings.TrimSpace(c.IfNoneMatch) == "*" || listsTag(c.IfNoneMatch, version)) {
		return fmt.Errorf("it already exists: %w", records.ErrChanged)
	}
	switch {
	case c.IfMatch == "" || version != "" && strings.TrimSpace(c.IfMatch) == "*" || listsTag(c.IfMatch, version):
		return nil
	case version == "":
		return fmt.Errorf("it does not exist: %w", records.ErrChanged)
	}
	return records.ErrChanged
}

// listsTag reports whether a list of entity tags has that of a version. Weak ones name no version.
func listsTag(list, version string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if version != "" && strings.TrimSpace(t) == tag(version) {
			return true
		}
	}
	return false
}

// tag is a version as an entity tag; empty: it has none.
func tag(version string) string {
	if version == "" {
		return ""
	}
	return `"` + version + `"`
}

func answerTagged[T any](v T, version string, err error) (*tagged[T], error) {
	if err != nil {
		return nil, err
	}
	return &tagged[T]{tag(version), v}, nil
}

// paged cuts a page out of a list that is sorted by what name tells.
func paged[T any](all []T, name func(*T) string, in Paging, list ...string) (*body[api.Page[T]], error) {
	after, err := openCursor(in.Cursor, list...)
	if err != nil {
		return nil, err
	}
	page := api.Page[T]{Data: []T{}}
	for i := range all {
		if name(&all[i]) <= after {
			continue
		}
		if len(page.Data) == in.Limit {
			page.HasMore, page.NextCursor = true, sealCursor(name(&page.Data[in.Limit-1]), list...)
			break
		}
		page.Data = append(page.Data, all[i])
	}
	return answer(page, nil)
}

// overall refuses keys that are bound to tenants: the object is shared by all tenants.
func overall(ctx context.Context) error {
	if caller(ctx).SeesAll() {
		return nil
	}
	return &check.Refusal{Code: "missing_scope", Detail: "this applies to all tenants, and the API key is limited to some",
		Fix: "use a key that is not bound to tenants"}
}

// operators refuses keys that are bound to tenants, unless they may control what
// runs: these have to see what it waits for.
func operators(ctx context.Context) error {
	if caller(ctx).May(access.Control) {
		return nil
	}
	return overall(ctx)
}

// resourcesOf returns which resources the caller may learn of.
func (s *Server) resourcesOf(ctx context.Context) (sees func(name string) bool, err error) {
	who := caller(ctx)
	if who.SeesAll() {
		return func(string) bool { return true }, nil
	}
	seen, err := s.svc.Fleet.Seen(ctx, who.Tenants)
	return func(name string) bool { return seen[name] }, err
}

// onlySeen reads a list of what belongs to resources, without those that the caller may not learn of.
func onlySeen[T any](s *Server, all func(context.Context) ([]T, error), resource func(*T) string) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		sees, err := s.resourcesOf(ctx)
		if err != nil {
			return nil, err
		}
		list, err := all(ctx)
		return slices.DeleteFunc(list, func(v T) bool { return !sees(resource(&v)) }), err
	}
}

// covers reports whether the caller sees every tenant in the list; an empty list means all.
func covers(ctx context.Context, tenants []string) bool {
	who := caller(ctx)
	for _, t := range tenants {
		if !who.Sees(t) {
			return false
		}
	}
	return len(tenants) > 0 || who.SeesAll()
}

// seesAny reports whether the caller sees any tenant in the list; an empty list means all.
func seesAny(ctx context.Context, tenants []string) bool {
	who := caller(ctx)
	for _, t := range tenants {
		if who.Sees(t) {
			return true
		}
	}
	return len(tenants) == 0
}
