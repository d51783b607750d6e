package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func actionView() view[api.Action] {
	type a = api.Action
	return view[a]{
		id: func(x *a) string { return x.Name },
		columns: []column[a]{
			{"name", func(x *a) any { return x.Name }},
			{"kind", func(x *a) any { return x.Kind }},
			{"resource", func(x *a) any { return cmp.Or(x.Resource, x.Name) }},
			{"batch", func(x *a) any { return none(int64(x.Batch)) }},
			{"undo", func(x *a) any { return x.Undo }},
			{"origin", func(x *a) any { return x.Origin }},
			{"disabled", func(x *a) any { return x.Disabled }},
			{"url", func(x *a) any { return x.URL }},
		},
		more: []column[a]{
			{"undo url", func(x *a) any { return x.UndoURL }},
			{"timeout", func(x *a) any { return x.Timeout }},
			{"tenants", func(x *a) any { return x.Tenants }},
			{"schema", func(x *a) any { return x.Schema }},
		},
	}
}

func actionsCommand() command {
	return command{use: "actions", short: "what can be done to items: list, get, apply, delete, test", subs: []command{
		{use: "list", short: "list the actions", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, actionView(), l.Actions(ctx), 0) })
		}},
		{use: "get NAME", short: "show an action", args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				a, err := l.Action(ctx, args[0])
				if err != nil {
					return err
				}
				return one(l, actionView(), a)
			})
		}},
		{use: "apply -f FILE", short: "make HTTP actions of a file, or change them", args: between(0, 0, ""), example: `  weir actions apply -f actions.yaml`, bind: func(fs *pflag.FlagSet) runner {
			return applied(fs, actionView(), func(a *api.Action) string { return a.Name }, func(ctx context.Context, l *link, name string, a api.Action) (api.Action, error) {
				return l.PutAction(ctx, name, a)
			})
		}},
		removing("delete NAME", "remove an action that nothing uses", "the action", func(ctx context.Context, l *link, name string) error { return l.DeleteAction(ctx, name) }),
		{
			use: "test NAME", short: "send a made-up batch to an action, and see request and answer", args: between(1, 1, "NAME"),
			example: `  weir actions test send-message --item '{"id":"u1","data":{"to":"u1@example.com"}}'`, bind: bindActionTest,
		},
	}}
}

func bindActionTest(fs *pflag.FlagSet) runner {
	items := fs.StringArray("item", nil, "`JSON` of an item: its id and data, or the data alone; repeat it for more")
	real := fs.Bool("for-real", false, "do not tell the endpoint that it is only a trial")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		t := api.ActionTest{}
		if *real {
			dry := false
			t.DryRun = &dry
		}
		for i, text := range *items {
			it, err := testItem(text, i+1)
			if err != nil {
				return err
			}
			t.Items = append(t.Items, it)
		}
		if len(t.Items) == 0 {
			t.Items = []api.Item{{ID: "test-1", Data: json.RawMessage(`{}`)}}
		}
		s, err := l.TestAction(ctx, args[0], t)
		if err != nil {
			return err
		}
		return l.showTrial(&s)
	})
}

// testItem reads {"id":…,"data":…}, or takes the whole for the data.
func testItem(text string, no int) (it api.Item, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&it) == nil && it.ID != "" {
		return it, nil
	}
	if !json.Valid([]byte(text)) {
		return it, badUsage(`write it as in '{"id":"u1","data":{}}'`, "--item: %q is no JSON", text)
	}
	return api.Item{ID: fmt.Sprintf("test-%d", no), Data: json.RawMessage(text)}, nil
}

// showTrial tells how a call went. One that failed is the command's failure, too.
func (l *link) showTrial(s *api.TrialStep) error {
	if l.out != outTable {
		return one(l, view[api.TrialStep]{id: func(x *api.TrialStep) string { return x.Action }}, *s)
	}
	p, _ := outward(l.env)
	w := l.env.Stdout
	if s.Request != "" {
		fmt.Fprintf(w, "%s\n%s\n", p.dim("request"), strings.TrimSpace(s.Request))
	}
	if s.Status != 0 {
		fmt.Fprintf(w, "%s %d in %s\n%s\n", p.dim("answer"), s.Status, span(time.Duration(s.Took)), strings.TrimSpace(s.Response))
	}
	if s.Error != "" {
		return &failure{exitOther, s.Error, "look at what the endpoint answered"}
	}
	failed := 0
	for _, i := range s.Items {
		fmt.Fprintf(w, "%s  %s  %s\n", pad(i.ID, 12), itemState(p, &i), strings.TrimSpace(i.Code+" "+i.Message))
		if i.State != "done" {
			failed++
		}
	}
	if failed > 0 {
		return ended(exitSomeFailed)
	}
	return nil
}

func resourceView() view[api.ResourceStatus] {
	type r = api.ResourceStatus
	return view[r]{
		id: func(x *r) string { return x.Name },
		columns: []column[r]{
			{"name", func(x *r) any { return x.Name }},
			{"rate", func(x *r) any { return x.Rate }},
			{"concurrency", func(x *r) any { return none(int64(x.Concurrency)) }},
			{"use", func(x *r) any { return fmt.Sprintf("%.0f%%", x.Use*100) }},
			{"in flight", func(x *r) any { return x.InFlight }},
			{"ready", func(x *r) any { return x.Ready }},
			{"circuit", func(x *r) any { return x.Circuit }},
			{"reason", func(x *r) any { return x.Reason }},
		},
		more: []column[r]{
			{"allowed now", func(x *r) any { return positiveRate(x.Allowed) }},
			{"bearable", func(x *r) any { return none(int64(x.Bearable)) }},
			{"origin", func(x *r) any { return x.Origin }},
			{"effective", func(x *r) any { return x.EffectiveAt }},
		},
	}
}

func positiveRate(r float64) any {
	if r <= 0 {
		return ""
	}
	return perSecond(r)
}

func resourcesCommand() command {
	return command{use: "resources", short: "what is downstream and must not be overrun: list, get, set", subs: []command{
		{use: "list", short: "list the resources and how they are used", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error {
				return list(l, resourceView(), l.Resources(ctx), 0)
			})
		}},
		{use: "get NAME", short: "show a resource", args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				r, err := l.Resource(ctx, args[0])
				if err != nil {
					return err
				}
				return one(l, resourceView(), r)
			})
		}},
		{use: "set NAME", short: "change the limits of a resource, live", args: between(1, 1, "NAME"), example: `  weir resources set send-message --rate 450/s --concurrency 8`, bind: bindResourceSet},
	}}
}

func bindResourceSet(fs *pflag.FlagSet) runner {
	rate := fs.String("rate", "", "most items per second over all nodes, as in `450/s`, or unlimited")
	concurrency := fs.Int("concurrency", 0, "most calls at once over all nodes; 0 is no bound")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		var r api.Resource
		if fs.Changed("rate") {
			r.Rate = new(api.Rate)
			if err := r.Rate.UnmarshalText([]byte(*rate)); err != nil {
				return badUsage("write it as in 450/s, or unlimited", "--rate: %v", err)
			}
		}
		if fs.Changed("concurrency") {
			r.Concurrency = concurrency
		}
		if r.Rate == nil && r.Concurrency == nil {
			return badUsage("add --rate 450/s or --concurrency 8", "there is nothing to set")
		}
		s, err := l.PutResource(ctx, args[0], r)
		if err != nil {
			return err
		}
		return one(l, resourceView(), s)
	})
}

func tenantView() view[api.Tenant] {
	type t = api.Tenant
	return view[t]{id: func(x *t) string { return x.Name }, columns: []column[t]{
		{"name", func(x *t) any { return x.Name }},
		{"weight", func(x *t) any { return cmp.Or(x.Weight, 1) }},
		{"max tasks", func(x *t) any { return none(int64(x.MaxTasks)) }},
		{"max pending", func(x *t) any { return none(x.MaxPending) }},
		{"paused", func(x *t) any { return x.Paused }},
	}}
}

func tenantsCommand() command {
	return command{use: "tenants", short: "how much each tenant may use: list, set", subs: []command{
		{use: "list", short: "list the tenants", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, tenantView(), l.Tenants(ctx), 0) })
		}},
		{use: "set NAME", short: "change how much a tenant may use", args: between(1, 1, "NAME"), example: `  weir tenants set growth --weight 3 --max-tasks 50`, bind: bindTenantSet},
	}}
}

func bindTenantSet(fs *pflag.FlagSet) runner {
	var t api.Tenant
	fs.Float64Var(&t.Weight, "weight", 1, "its share beside others: `N` gets N times as much as 1")
	fs.IntVar(&t.MaxTasks, "max-tasks", 0, "most `N` tasks in flight at once in a partition; 0 is no bound")
	fs.Int64Var(&t.MaxPending, "max-pending", 0, "most `N` items accepted and not ended; 0 is no bound")
	fs.BoolVar(&t.Paused, "paused", false, "nothing of it starts; --paused=false lets it go on")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		if fs.Changed("weight") && t.Weight <= 0 {
			return badUsage("write more than 0; --paused stops a tenant", "--weight: %g is not above 0", t.Weight)
		}
		out, err := l.ChangeTenant(ctx, args[0], func(now *api.Tenant) error {
			if fs.Changed("weight") {
				now.Weight = t.Weight
			}
			if fs.Changed("max-tasks") {
				now.MaxTasks = t.MaxTasks
			}
			if fs.Changed("max-pending") {
				now.MaxPending = t.MaxPending
			}
			if fs.Changed("paused") {
				now.Paused = t.Paused
			}
			return nil
		})
		if err != nil {
			return err
		}
		return one(l, tenantView(), out)
	})
}

func connectionView() view[api.Connection] {
	type c = api.Connection
	return view[c]{id: func(x *c) string { return x.Name }, columns: []column[c]{
		{"name", func(x *c) any { return x.Name }},
		{"kind", func(x *c) any { return x.Kind }},
		{"url", func(x *c) any { return x.URL }},
		{"tenants", func(x *c) any { return x.Tenants }},
		{"origin", func(x *c) any { return x.Origin }},
	}}
}

func connectionsCommand() command {
	return command{use: "connections", short: "ways to where items are read from: list, apply, delete", subs: []command{
		{use: "list", short: "list the connections, without their secrets", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error {
				return list(l, connectionView(), l.Connections(ctx), 0)
			})
		}},
		{use: "apply -f FILE", short: "make connections of a file, or change them", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return applied(fs, connectionView(), func(c *api.Connection) string { return c.Name }, func(ctx context.Context, l *link, name string, c api.Connection) (api.Connection, error) {
				return l.PutConnection(ctx, name, c)
			})
		}},
		removing("delete NAME", "remove a connection", "the connection", func(ctx context.Context, l *link, name string) error { return l.DeleteConnection(ctx, name) }),
	}}
}

// applied makes the runner of apply: one thing of a file, or a list of them.
func applied[T any](fs *pflag.FlagSet, v view[T], name func(*T) string, put func(context.Context, *link, string, T) (T, error)) runner {
	file := fileFlag(fs)
	return online(fs, func(ctx context.Context, l *link, _ []string) error {
		all, err := readAll[T](l.env, *file)
		if err != nil {
			return err
		}
		for i := range all {
			if name(&all[i]) == "" {
				return badUsage("give each a name", "%s: entry %d has no name", *file, i+1)
			}
		}
		done := make([]T, 0, len(all))
		for i := range all {
			x, err := put(ctx, l, name(&all[i]), all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", name(&all[i]), err)
			}
			done = append(done, x)
		}
		return list(l, v, seq(done), 0)
	})
}

func fileFlag(fs *pflag.FlagSet) *string {
	return fs.StringP("file", "f", "", "YAML or JSON `FILE` as the API takes it; - is stdin")
}

// readAll reads one thing, or a list of them.
func readAll[T any](env *Env, file string) (all []T, err error) {
	if file == "" {
		return nil, badUsage("add -f FILE; - reads stdin", "the file is missing")
	}
	from := "@" + file
	if file == "-" {
		from = file
	}
	raw, err := env.readArgument(from)
	if err != nil {
		return nil, err
	}
	var many []T
	if err := decodeSpec(file, raw, &many); err == nil {
		return many, nil
	}
	var single T
	if err := decodeSpec(file, raw, &single); err != nil {
		return nil, err
	}
	return []T{single}, nil
}

// removing is a command that removes something for good.
func removing(use, short, what string, do func(context.Context, *link, string) error) command {
	_, arg, _ := strings.Cut(use, " ")
	return command{use: use, short: short, args: between(1, 1, arg), bind: func(fs *pflag.FlagSet) runner {
		yes := yesFlag(fs)
		return online(fs, func(ctx context.Context, l *link, args []string) error {
			if err := l.confirm(ctx, *yes, "removing %s %s", what, args[0]); err != nil {
				return err
			}
			if err := do(ctx, l, args[0]); err != nil {
				return err
			}
			l.say("%s %s is gone", what, args[0])
			return nil
		})
	}}
}
