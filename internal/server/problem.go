package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

// problem is an error answer on its way out.
type problem struct {
	api.Problem
	header http.Header
}

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *problem) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// useProblemsOnce: huma keeps the maker of errors in a variable of its package. All servers of a process want the same.
var useProblemsOnce sync.Once

func useProblems() {
	useProblemsOnce.Do(func() {
		huma.ValidateStrictCasing = true
		huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
			return ofHuma(status, msg, errs, noHints)
		}
		huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
			if ctx == nil {
				return ofHuma(status, msg, errs, noHints)
			}
			v := visitOf(ctx.Context())
			p := ofHuma(status, msg, errs, hints{v.server, ctx.Operation()})
			v.sign(p)
			return p
		}
	})
}

// maySecret reports whether what was found in a field may be a secret: answers repeat none.
func maySecret(field string) bool {
	field = strings.ToLower(field)
	for _, word := range []string{"secret", "header", "password", "token", "key", "callback"} {
		if strings.Contains(field, word) {
			return true
		}
	}
	return false
}

func shorten(v any) string {
	if v == nil {
		return ""
	}
	switch v.(type) {
	case map[string]any, []any:
		return ""
	}
	s := fmt.Sprint(v)
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:61], "") + "…"
	}
	return s
}

// codeOfStatus is for what huma refuses by itself.
func codeOfStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "bad_json"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusRequestEntityTooLarge:
		return "body_too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusRequestTimeout:
		return "too_slow"
	}
	return "internal"
}

// newProblem makes a problem of a code that [meanings] has. Without a fix of its own it has that of its code.
func newProblem(code, detail, fix string) *problem {
	m, ok := meanings[code]
	if !ok { // a code of the user's own
		m = meaning{status: http.StatusUnprocessableEntity, title: "Invalid request"}
	}
	sentence, _, _ := strings.Cut(m.what, ".")
	return &problem{Problem: api.Problem{Type: "/problems/" + code, Title: cmp.Or(m.title, sentence), Status: m.status,
		Code: code, Detail: clip(detail), Fix: clip(cmp.Or(fix, m.fix))}}
}

// maxSaid limits the length of a text in a response: it may quote the request.
const maxSaid = 1000

func clip(text string) string {
	if len(text) <= maxSaid {
		return text
	}
	return strings.ToValidUTF8(text[:maxSaid], "") + "…"
}

func (p *problem) after(d time.Duration) *problem {
	if d > 0 {
		p.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(d.Seconds())))}}
	}
	return p
}

// problem turns an error into a response. Unexpected errors are logged, and reported as internal.
func (s *Server) problem(ctx context.Context, err error) *problem {
	p := problemOf(silenced(ctx, err))
	if p.Code == "not_found" && p.Detail == notThere {
		s.nameMissing(visitOf(ctx), p)
	}
	visitOf(ctx).sign(p)
	if p.Code == "internal" || p.Code == "damaged" {
		s.log.LogAttrs(ctx, slog.LevelError, "request failed", slog.Any("error", err), slog.String("request_id", p.RequestID))
	}
	return p
}

// notThere is the detail of an object that the path does not name. The same is said of those of other tenants.
const notThere = "it does not exist, or the API key has no access to it"

// nameMissing names the object that a path names and that the caller cannot find.
func (s *Server) nameMissing(v *visit, p *problem) {
	list, _, named := strings.Cut(v.route.path, "/{")
	if !named {
		return
	}
	kind, _, _ := strings.Cut(v.route.id, ".")
	var id []string
	path := strings.Split(v.path, "/")
	for i, part := range strings.Split(v.route.path, "/") {
		if strings.HasPrefix(part, "{") && i < len(path) {
			id = append(id, path[i])
		}
	}
	p.Detail, p.Fix = s.missing(strings.ReplaceAll(kind, "_", " "), strings.Join(id, "/"), list)
}

// missing says that an object cannot be found, and how to list those of its kind.
func (s *Server) missing(kind, id, list string) (detail, fix string) {
	detail = kind + " " + shorten(id) + " does not exist, or the API key has no access to it"
	if s.routes["GET "+list] == nil {
		return detail, "check the id and the key"
	}
	return detail, "check the id, or list them: " + cmp.Or(listing[kind], "weir "+kind+"s list") + " (GET " + list + ")"
}

// listing holds the commands that list objects of a kind, where they are not named by it.
var listing = map[string]string{"bulk action": "weir list", "lane": "weir lanes", "delivery": "weir webhooks deliveries"}

// restoreOrAccept is the fix for a stopped partition.
const restoreOrAccept = "ask the operator of this server to restore the store or to accept the loss"

func problemOf(err error) *problem {
	var (
		ready   *problem
		many    *weir.InputError
		field   *weir.FieldError
		refusal *check.Refusal
		full    *weir.BacklogError
		twice   *weir.DuplicateError
		row     *source.RowError
		file    *source.InputError
		busy    *access.LimitError
		scope   *access.MissingScopeError
		signIn  *SignInError
		lost    *weir.LostError
		loss    *weir.LossError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &many):
		return ofFields(many.Fields)
	case errors.As(err, &field):
		return ofFields([]*weir.FieldError{field})
	case errors.As(err, &refusal):
		return newProblem(refusal.Code, refusal.Detail, refusal.Fix).after(refusal.RetryAfter)
	case errors.As(err, &full) && full.Tenant != "":
		return newProblem("tenant_quota", full.Error(),
			"wait for work of the tenant to end, or ask for a larger max_pending").after(full.RetryAfter)
	case errors.As(err, &full):
		return newProblem("backlog_full", full.Error(), "wait for work to end").after(full.RetryAfter)
	case errors.As(err, &lost) && lost.Loss.Accepted.IsZero():
		return newProblem("partition_stopped", lost.Error(), restoreOrAccept)
	case errors.As(err, &loss):
		return newProblem("partition_stopped", err.Error(), restoreOrAccept)
	case errors.As(err, &lost):
		return newProblem("lost", lost.Error(), "create it again if it is needed")
	case errors.As(err, &signIn):
		return ofSignIn(signIn)
	case errors.As(err, &scope):
		return newProblem("missing_scope", scope.Error(), "ask for a key with the scope "+string(scope.Scope))
	case errors.As(err, &busy):
		return newProblem("too_many_requests", busy.Error(), "slow down").after(busy.RetryAfter)
	case errors.As(err, &twice):
		return ofTwice(twice, keepOne)
	case errors.As(err, &row):
		p := newProblem(row.Code, row.Problem, row.Fix)
		p.Detail = fmt.Sprintf("line %d: %s", row.Line, row.Problem)
		p.Errors = []api.Fault{{Code: row.Code, Field: row.Field, Line: int64(row.Line), Column: int64(row.Column),
			Value: shorten(row.Value), Message: row.Problem, Fix: row.Fix}}
		return p
	case errors.As(err, &file):
		return ofFile(file)
	}
	return ofKind(err)
}

func ofSignIn(e *SignInError) *problem {
	fix := "sign in, and send what the login gives"
	if e.URL != "" {
		fix = "sign in at " + e.URL
	}
	p := newProblem("no_credentials", "the request is not from someone who is signed in", fix)
	p.Title = "Sign-in required"
	return p
}

func ofFile(e *source.InputError) *problem {
	code := map[string]string{source.CodeCutShort: "bad_gzip", source.CodeCorrupt: "bad_gzip",
		source.CodeNotText: "bad_encoding"}[e.Code]
	if code == "" {
		code = e.Code
	}
	p := newProblem(code, e.Problem, e.Fix)
	p.Errors = []api.Fault{{Code: code, Line: int64(e.Line), Column: int64(e.Column), Message: e.Problem, Fix: e.Fix}}
	return p
}

func ofFields(fields []*weir.FieldError) *problem {
	first := fields[0]
	p := newProblem(first.Code, strings.TrimPrefix(first.Field+": "+first.Problem, ": "), first.Fix)
	for _, f := range fields[:min(len(fields), maxFaults)] {
		fix := cmp.Or(f.Fix, meanings[f.Code].fix)
		p.Errors = append(p.Errors, api.Fault{Code: f.Code, Field: clip(f.Field), Message: clip(f.Problem), Fix: clip(fix)})
	}
	return p
}

// ofKind knows the errors to branch on.
func ofKind(err error) *problem {
	switch {
	case errors.Is(err, weir.ErrExpired):
		return newProblem("expired", err.Error(), "")
	case errors.Is(err, weir.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return newProblem("not_found", notThere, "check the id and the key")
	case errors.Is(err, store.ErrCorrupt):
		return newProblem("damaged", "parts of it are missing from the store or cannot be read",
			"ask the operator of this server: the log names the missing parts, and weir doctor checks for more")
	case errors.Is(err, weir.ErrConflict):
		return newProblem("idempotency_conflict", err.Error(), "use another key for other content")
	case errors.Is(err, weir.ErrEnded):
		return newProblem("already_ended", err.Error(), "")
	case errors.Is(err, weir.ErrRunning):
		return newProblem("wrong_state", err.Error(), "")
	case errors.Is(err, records.ErrChanged):
		return newProblem("changed_meanwhile", "it was changed since it was read", "read it again and repeat the change")
	case errors.Is(err, records.ErrExists):
		return newProblem("exists", "the name is taken", "choose another name")
	case errors.Is(err, records.ErrTooBig):
		return newProblem("body_too_large", err.Error(), "make it smaller")
	case errors.Is(err, access.ErrNoCredentials):
		return newProblem("no_credentials", "an API key is required", "send the header Authorization: Bearer wk_…")
	case errors.Is(err, access.ErrBadCredentials):
		return newProblem("bad_credentials", "the API key is not valid", "check it, or request a new one")
	case errors.Is(err, store.ErrFull):
		return newProblem("storage_low", "the store is low on space: new work is refused; accepted work continues",
			"free space, or delete what is no longer needed; limits.min_free says how much of the disk an embedded store keeps "+
				"free").after(time.Minute)
	case errors.Is(err, weir.ErrClosed), errors.Is(err, store.ErrClosed):
		return newProblem("draining", "this server is stopping", "retry: another server takes over").after(5 * time.Second)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrUnknown), errors.Is(err, context.DeadlineExceeded):
		return newProblem("store_unavailable", "the store does not respond; the request may have taken effect",
			"repeat it with the same Idempotency-Key").after(2 * time.Second)
	case errors.Is(err, context.Canceled):
		return newProblem("cut_body", "the request ended before it was complete", "send it again")
	}
	return newProblem("internal", "unexpected error", "retry; if it persists, give the operator of this server the request id")
}
