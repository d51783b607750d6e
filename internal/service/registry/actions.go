package registry

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
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// Actions is the registry of actions: those of the program, of the configuration file, and those
// created over the API. The last are records, which every node reads again twice a second.
type Actions struct {
	life      context.Context // of the service
	guard     *egress.Guard
	transport http.RoundTripper
	answers   *execute.Memory // shared by all actions
	vault     *vault.Vault
	table     *records.Table[storedAction]
	program   map[string]*Action // never changes; takes precedence over all others
	file      map[string]*Action // never changes; actions created over the API take precedence

	announce func(names ...string) // see Announce

	mu     sync.Mutex
	made   map[string]*Action // over the API
	loaded bool               // made has been read from the store
}

// Action is one action, ready to be called.
type Action struct {
	api.Action
	version    string
	Deleted    bool
	Base       weir.Step // the program's step; for other actions, the settings
	do         weir.Handler
	undo       weir.Handler    // nil: it cannot be undone
	ItemSchema *mapping.Schema // of its items; nil: any
}

// Options configures [NewActions] and [NewConnections]. Store, Guard and Vault are required.
type Options struct {
	Store records.Keeper
	// Guard checks and makes connections to URLs that users give.
	Guard *egress.Guard
	// Vault seals secrets.
	Vault *vault.Vault
	// Steps are the actions of the program itself.
	Steps []weir.Step
	// Actions are the actions of the configuration file.
	Actions []api.Action
	// Connections are the connections of the configuration file, secrets included.
	Connections []api.Connection
}

// NewActions returns the registry of actions. The engine asks it for steps without a context: ctx
// bounds those reads.
func NewActions(ctx context.Context, o Options) (*Actions, error) {
	r := &Actions{
		life: ctx, guard: o.Guard, transport: o.Guard.Transport(egress.TLSOptions{}), answers: execute.NewMemory(), vault: o.Vault,
		table: records.New[storedAction](o.Store, "action"), program: map[string]*Action{}, file: map[string]*Action{},
		made: map[string]*Action{},
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
		made.Provenance = Provenance("file", read)
		r.file[a.Name] = made
	}
	return r, nil
}

func ofProgram(st weir.Step) *Action {
	a := &Action{Base: st, do: st.Handle, undo: st.Undo, Action: api.Action{
		Name: st.Name, Kind: "go", Provenance: api.Provenance{Origin: "program"}, Undo: st.Undo != nil, Batch: st.BatchSize,
		Timeout: api.Duration(st.Timeout), Resource: st.Resource.Name,
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
func (r *Actions) prepare(a api.Action) (*Action, error) {
	var bad weir.InputError
	h := weir.HTTPAction[json.RawMessage, json.RawMessage]{
		Name: a.Name, URL: a.URL, Secret: a.Secret, Header: a.Header, BatchSize: a.Batch, Timeout: time.Duration(a.Timeout),
		Resource: weir.Resource{Name: cmp.Or(a.Resource, a.Name)},
	}
	if a.Retry != nil {
		h.Retry = weir.Backoff{MaxAttempts: a.Retry.MaxAttempts, Base: time.Duration(a.Retry.Base), Cap: time.Duration(a.Retry.Cap)}
	}
	out := &Action{Action: a, Base: weir.RawStep(h.Action())}
	checkAction(&a, out.Base, &bad)
	out.do = r.caller(out.Base, "url", a.URL, &bad)
	if a.UndoURL != "" {
		back := out.Base
		end := *back.Endpoint
		end.URL = a.UndoURL
		back.Endpoint = &end
		out.undo = r.caller(back, "undo_url", a.UndoURL, &bad)
	}
	if len(a.Schema) > 0 {
		var err error
		if out.ItemSchema, err = mapping.CompileSchema("schema", a.Schema); err != nil {
			check.Add(&bad, err, "bad_schema", "schema")
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
		bad.Add("out_of_range", "retry", fmt.Sprintf("%d attempts, base %v, cap %v", r.MaxAttempts, r.Base, r.Cap),
			"want 1 to 250 attempts and a base of at most the cap")
	}
	if a.Batch < 0 || a.Batch > 1000 {
		bad.Add("out_of_range", "batch", fmt.Sprintf("%d is not between 1 and 1000", a.Batch), "leave it out for 100")
	}
}

// caller returns a handler that calls an endpoint through the egress guard.
func (r *Actions) caller(st weir.Step, field, url string, bad *weir.InputError) weir.Handler {
	if _, err := r.guard.CheckURL(field, url); err != nil {
		check.Add(bad, err, egress.CodeBadURL, field)
		return nil
	}
	h, err := execute.HTTP(st, execute.HTTPOptions{Transport: r.transport, Memory: r.answers})
	if err != nil {
		check.Add(bad, err, "bad_url", field)
	}
	return h
}

// Step returns the step that the engine runs for an action.
func (a *Action) Step(undo bool) weir.Step {
	st := a.Base
	if undo {
		st.Name += ".undo"
	}
	return st
}

// Handler returns the function that calls the action, or its undo.
func (a *Action) Handler(undo bool) (weir.Handler, error) {
	switch {
	case undo && a.undo == nil:
		return nil, fmt.Errorf("action %q cannot be undone", a.Name)
	case undo:
		return a.undo, nil
	}
	return a.do, nil
}

// MayUse reports whether a tenant can use the action in new bulk actions.
func (a *Action) MayUse(tenant string) bool {
	return !a.Deleted && (len(a.Tenants) == 0 || slices.Contains(a.Tenants, tenant))
}

// Load reads the actions that were created over the API. They take precedence over those of the
// file, so the engine must not run before. From then on, announce is called with the name of every
// action that is created.
func (r *Actions) Load(ctx context.Context, announce func(names ...string)) error {
	if err := r.Refresh(ctx); err != nil {
		return err
	}
	r.announce = announce
	announce(r.Names()...)
	return nil
}

// Find returns an action, including a deleted one: running bulk actions keep it.
func (r *Actions) Find(name string) (*Action, error) {
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
func (r *Actions) known(name string) *Action {
	if a := r.program[name]; a != nil {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	made, file := r.made[name], r.file[name]
	switch {
	case made != nil && !made.Deleted || file == nil:
		return made
	case made != nil || r.loaded:
		return file
	}
	return nil // the store may have one
}

// take makes a stored action callable.
func (r *Actions) take(e records.Entry[storedAction]) (*Action, error) {
	r.mu.Lock()
	have := r.made[e.Name]
	r.mu.Unlock()
	if have != nil && have.version == e.Version {
		return have, nil
	}
	open, err := r.open(e.Value.api())
	var a *Action
	if err == nil {
		a, err = r.prepare(open)
	}
	if err != nil {
		return nil, fmt.Errorf("action %q: %w", e.Name, err)
	}
	a.version, a.Deleted, a.Provenance = e.Version, e.Value.Deleted, Provenance("api", e.Value.Set)
	r.mu.Lock()
	r.made[e.Name] = a
	r.mu.Unlock()
	return a, nil
}

// open unseals the secrets of a stored action.
func (r *Actions) open(a api.Action) (_ api.Action, err error) {
	if a.Secret, err = openOne(r.vault, "action/"+a.Name, a.Secret); err == nil {
		a.Header, err = openAll(r.vault, "action/"+a.Name, a.Header)
	}
	return a, err
}

// Run reads the records again, twice a second, until ctx ends.
func (r *Actions) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for failing := false; ; {
		err := r.Refresh(ctx)
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

// Refresh reads the records.
func (r *Actions) Refresh(ctx context.Context) error {
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

// Names lists the actions that can be used.
func (r *Actions) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.program)), maps.Keys(r.file))
	for n, a := range r.made {
		if !a.Deleted {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namesFor lists the actions that a tenant can use. Actions of other tenants stay hidden.
func (r *Actions) namesFor(tenant string) []string {
	return slices.DeleteFunc(r.Names(), func(name string) bool {
		a, err := r.Find(name)
		return err != nil || !a.MayUse(tenant)
	})
}

// Unknown refuses an action that does not exist, and lists the actions that every tenant can
// use.
func (r *Actions) Unknown(field, name string) error { return r.UnknownTo("", field, name) }

// UnknownTo refuses an action that a tenant cannot use, and lists those it can.
func (r *Actions) UnknownTo(tenant, field, name string) error {
	known := r.namesFor(tenant)
	fix := check.Known(name, known, "no actions exist yet: create one first")
	if name == "" {
		return &weir.FieldError{Code: "unknown_action", Field: field, Problem: "is empty", Fix: fix}
	}
	return &weir.FieldError{Code: "unknown_action", Field: field, Problem: fmt.Sprintf("unknown action %.128q", name), Fix: fix}
}

// ResourcesFor returns the resources of the actions that one of some tenants can use.
func (r *Actions) ResourcesFor(tenants []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range r.Names() {
		if a, err := r.Find(name); err == nil && slices.ContainsFunc(tenants, a.MayUse) {
			out[a.Base.Resource.Name] = true
		}
	}
	return out
}

// Resources returns the resources that actions use, with the program's limits: other actions
// set none.
func (r *Actions) Resources() map[string]weir.Resource {
	used := map[string]weir.Resource{}
	for _, name := range r.Names() {
		a, err := r.Find(name)
		if err != nil {
			continue
		}
		u := a.Base.Resource
		if had, ok := used[u.Name]; !ok || had.Rate == 0 && had.Concurrency == 0 && had.Pacing != weir.PacingFull {
			used[u.Name] = u
		}
	}
	return used
}
