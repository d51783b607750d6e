package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// actions is the registry of actions: those of the program, of the configuration file, and those
// created over the API. The last are records, which every node reads again twice a second.
type actions struct {
	life      context.Context // of the service
	guard     *egress.Guard
	transport http.RoundTripper
	answers   *execute.Memory // shared by all actions
	vault     *vault.Vault
	table     *records.Table[storedAction]
	program   map[string]*action // never changes; takes precedence over all others
	file      map[string]*action // never changes; actions created over the API take precedence

	mu     sync.Mutex
	made   map[string]*action // over the API
	loaded bool               // made has been read from the store
}

// storedAction is the record of an action, with sealed secrets.
type storedAction struct {
	api.Action
	Deleted bool       `json:"deleted,omitempty"` // running bulk actions keep it; new ones cannot use it
	Set     weir.Stamp `json:"set,omitzero"`
}

// action is one action, ready to be called.
type action struct {
	api.Action
	version string
	deleted bool
	base    weir.Step // the program's step; for other actions, the settings
	do      weir.Handler
	undo    weir.Handler // nil: it cannot be undone
	schema  *mapping.Schema
}

func newActions(ctx context.Context, o Options) (*actions, error) {
	r := &actions{
		life: ctx, guard: o.Guard, transport: o.Guard.Transport(egress.TLSOptions{}), answers: execute.NewMemory(), vault: o.Vault,
		table: records.New[storedAction](o.Store, "action"), program: map[string]*action{}, file: map[string]*action{}, made: map[string]*action{},
	}
	for _, st := range o.Steps {
		r.program[st.Name] = ofProgram(st)
	}
	read := weir.Stamp{At: time.Now().UTC()}
	for _, a := range o.Actions {
		made, err := r.prepare(a)
		if err != nil {
			return nil, fmt.Errorf("action %q: %w", a.Name, err)
		}
		made.Provenance = provenance("file", read)
		r.file[a.Name] = made
	}
	return r, nil
}

func ofProgram(st weir.Step) *action {
	a := &action{base: st, do: st.Handle, undo: st.Undo, Action: api.Action{
		Name: st.Name, Kind: "go", Provenance: api.Provenance{Origin: "program"}, Undo: st.Undo != nil, Batch: st.BatchSize, Timeout: api.Duration(st.Timeout), Resource: st.Resource.Name,
		Retry: &api.Retry{MaxAttempts: st.Retry.MaxAttempts, Base: api.Duration(st.Retry.Base), Cap: api.Duration(st.Retry.Cap)},
	}}
	if strings.HasPrefix(st.Name, "demo.") {
		a.Kind = "demo"
	}
	if st.Endpoint != nil {
		a.Kind, a.URL = "http", st.Endpoint.URL
	}
	return a
}

// prepare checks an HTTP action and makes it callable. Its secrets are in plain text.
func (r *actions) prepare(a api.Action) (*action, error) {
	var bad weir.InputError
	h := weir.HTTPAction[json.RawMessage, json.RawMessage]{
		Name: a.Name, URL: a.URL, Secret: a.Secret, Header: a.Header, BatchSize: a.Batch, Timeout: time.Duration(a.Timeout),
		Resource: weir.Resource{Name: cmp.Or(a.Resource, a.Name)},
	}
	if a.Retry != nil {
		h.Retry = weir.Backoff{MaxAttempts: a.Retry.MaxAttempts, Base: time.Duration(a.Retry.Base), Cap: time.Duration(a.Retry.Cap)}
	}
	out := &action{Action: a, base: weir.RawStep(h.Action())}
	checkAction(&a, out.base, &bad)
	out.do = r.caller(out.base, "url", a.URL, &bad)
	if a.UndoURL != "" {
		back := out.base
		end := *back.Endpoint
		end.URL = a.UndoURL
		back.Endpoint = &end
		out.undo = r.caller(back, "undo_url", a.UndoURL, &bad)
	}
	if len(a.Schema) > 0 {
		var err error
		if out.schema, err = mapping.CompileSchema("schema", a.Schema); err != nil {
			addFault(&bad, err, "bad_schema", "schema")
		}
	}
	out.Kind, out.Undo = "http", out.undo != nil
	return out, bad.OrNil()
}

func checkAction(a *api.Action, st weir.Step, bad *weir.InputError) {
	if st.Timeout < time.Millisecond || st.Timeout > 24*time.Hour {
		bad.Add("out_of_range", "timeout", fmt.Sprintf("%v is not between 1ms and 24h", st.Timeout), "leave it out for 30s")
	}
	if r := st.Retry; r.MaxAttempts < 1 || r.MaxAttempts > 250 || r.Base < 0 || r.Cap < r.Base {
		bad.Add("out_of_range", "retry", fmt.Sprintf("%d attempts, base %v, cap %v", r.MaxAttempts, r.Base, r.Cap), "want 1 to 250 attempts and a base of at most the cap")
	}
	if a.Batch < 0 || a.Batch > 1000 {
		bad.Add("out_of_range", "batch", fmt.Sprintf("%d is not between 1 and 1000", a.Batch), "leave it out for 100")
	}
}

// caller returns a handler that calls an endpoint through the egress guard.
func (r *actions) caller(st weir.Step, field, url string, bad *weir.InputError) weir.Handler {
	if _, err := r.guard.CheckURL(field, url); err != nil {
		addFault(bad, err, egress.CodeBadURL, field)
		return nil
	}
	h, err := execute.HTTP(st, execute.HTTPOptions{Transport: r.transport, Memory: r.answers})
	if err != nil {
		addFault(bad, err, "bad_url", field)
	}
	return h
}

func addFault(bad *weir.InputError, err error, code, field string) {
	var one *weir.FieldError
	var many *weir.InputError
	switch {
	case errors.As(err, &many):
		bad.Fields = append(bad.Fields, many.Fields...)
	case errors.As(err, &one):
		bad.Fields = append(bad.Fields, one)
	default:
		bad.Add(code, field, err.Error(), "")
	}
}

// step returns the step that the engine runs for an action.
func (a *action) step(undo bool) weir.Step {
	st := a.base
	if undo {
		st.Name += ".undo"
	}
	return st
}

func (a *action) handler(undo bool) (weir.Handler, error) {
	switch {
	case undo && a.undo == nil:
		return nil, fmt.Errorf("action %q cannot be undone", a.Name)
	case undo:
		return a.undo, nil
	}
	return a.do, nil
}

func (a *action) mayUse(tenant string) bool {
	return !a.deleted && (len(a.Tenants) == 0 || slices.Contains(a.Tenants, tenant))
}

// find returns an action, including a deleted one: running bulk actions keep it.
func (r *actions) find(name string) (*action, error) {
	if a := r.known(name); a != nil {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(r.life, 5*time.Second) // another node may have created it a moment ago
	defer cancel()
	e, err := r.table.Get(ctx, name)
	if file := r.file[name]; file != nil && (errors.Is(err, weir.ErrNotFound) || err == nil && e.Value.Deleted) {
		return file, nil
	}
	if err != nil {
		return nil, err
	}
	return r.take(e)
}

// known returns the action in effect as far as memory tells: the program's, else the API's, else
// the file's, else a deleted one.
func (r *actions) known(name string) *action {
	if a := r.program[name]; a != nil {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	made, file := r.made[name], r.file[name]
	switch {
	case made != nil && !made.deleted || file == nil:
		return made
	case made != nil || r.loaded:
		return file
	}
	return nil // the store may have one
}

// take makes a stored action callable.
func (r *actions) take(e records.Entry[storedAction]) (*action, error) {
	r.mu.Lock()
	have := r.made[e.Name]
	r.mu.Unlock()
	if have != nil && have.version == e.Version {
		return have, nil
	}
	open, err := r.open(e.Value.Action)
	if err != nil {
		return nil, fmt.Errorf("action %q: %w", e.Name, err)
	}
	a, err := r.prepare(open)
	if err != nil {
		return nil, fmt.Errorf("action %q: %w", e.Name, err)
	}
	a.version, a.deleted, a.Provenance = e.Version, e.Value.Deleted, provenance("api", e.Value.Set)
	r.mu.Lock()
	r.made[e.Name] = a
	r.mu.Unlock()
	return a, nil
}

// open unseals the secrets of a stored action.
func (r *actions) open(a api.Action) (api.Action, error) {
	reveal := func(where, sealed string) (string, error) {
		if !vault.IsSealed(sealed) {
			return sealed, nil
		}
		plain, err := r.vault.Open(where, sealed)
		return string(plain), err
	}
	var err error
	if a.Secret, err = reveal("action/"+a.Name, a.Secret); err != nil {
		return a, err
	}
	a.Header = maps.Clone(a.Header)
	for k, v := range a.Header {
		if a.Header[k], err = reveal("action/"+a.Name+"/"+k, v); err != nil {
			return a, err
		}
	}
	return a, nil
}

// seal seals the secrets of an action for its record.
func (r *actions) seal(a api.Action) (api.Action, error) {
	hide := func(where, plain string) (string, error) {
		if plain == "" || vault.IsSealed(plain) {
			return plain, nil
		}
		return r.vault.Seal(where, []byte(plain))
	}
	var err error
	if a.Secret, err = hide("action/"+a.Name, a.Secret); err != nil {
		return a, err
	}
	a.Header = maps.Clone(a.Header)
	for k, v := range a.Header {
		if a.Header[k], err = hide("action/"+a.Name+"/"+k, v); err != nil {
			return a, err
		}
	}
	return a, nil
}

// keep reads the records again until ctx ends.
func (r *actions) keep(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for failing := false; ; {
		err := r.refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.LogAttrs(ctx, slog.LevelWarn, "cannot read actions, will retry", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *actions) refresh(ctx context.Context) error {
	var failed error
	for e, err := range r.table.All(ctx, "") {
		if err == nil {
			_, err = r.take(e)
		}
		failed = errors.Join(failed, err)
	}
	if failed == nil {
		r.mu.Lock()
		r.loaded = true
		r.mu.Unlock()
	}
	return failed
}

// names lists the actions that can be used.
func (r *actions) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.program)), maps.Keys(r.file))
	for n, a := range r.made {
		if !a.deleted {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
