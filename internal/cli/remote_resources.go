package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
)

func resourceView() view[api.ResourceStatus] {
	type r = api.ResourceStatus
	return view[r]{
		plural: "resources",
		id:     func(x *r) string { return x.Name },
		columns: []column[r]{
			{"name", func(x *r) any { return x.Name }},
			{"rate", func(x *r) any { return x.Rate }},
			{"concurrency", func(x *r) any { return none(int64(x.Concurrency)) }},
			{"pacing", func(x *r) any { return x.Pacing }},
			{"allowed now", func(x *r) any { return positiveRate(x.Allowed) }},
			{"use", func(x *r) any { return rateUse(x) }},
			{"in flight", func(x *r) any { return x.InFlight }},
			{"ready", func(x *r) any { return x.Ready }},
			{"circuit", func(x *r) any { return x.Circuit }},
			{"reason", func(x *r) any { return whole(x.Reason) }},
		},
		more: []column[r]{
			{"bearable", func(x *r) any { return none(int64(x.Bearable)) }},
			{"origin", func(x *r) any { return x.Origin }},
			{"changed", func(x *r) any { return changedText(x.Provenance) }},
			{"file", func(x *r) any { return fileLimits(x.File) }},
			{"effective", func(x *r) any { return x.EffectiveAt }},
		},
	}
}

// rateUse is the share of the allowed rate that is used; a resource without a rate has none.
func rateUse(r *api.ResourceStatus) string {
	if r.Rate == 0 && r.Allowed == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", r.Use*100)
}

// fileLimits tells what the configuration file says of a resource that was changed at run time.
func fileLimits(r *api.Resource) string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.Rate != nil {
		parts = append(parts, fmt.Sprintf("rate %v", r.Rate))
	}
	if r.Concurrency != nil {
		parts = append(parts, fmt.Sprintf("concurrency %d", *r.Concurrency))
	}
	if r.Pacing != nil {
		parts = append(parts, "pacing "+*r.Pacing)
	}
	return strings.Join(parts, ", ")
}

// changedText tells who set something, and when.
func changedText(p api.Provenance) string {
	if p.ChangedAt.IsZero() {
		return p.ChangedBy
	}
	text := clockTime(p.ChangedAt)
	if p.ChangedBy != "" {
		text += " by " + p.ChangedBy
	}
	return text
}

func positiveRate(r float64) any {
	if r <= 0 {
		return ""
	}
	return perSecond(r)
}

const resourcesLong = `Lists the resources, their limits, and how they are used.

  ALLOWED NOW  the rate that flow control allows, if that is below the limit
  USE          the share of ALLOWED NOW, or else of RATE, that was used recently; above 100% shortly after the rate
               was cut, and – if no rate is set
  IN FLIGHT    calls
  READY        items`

func resourcesCommand() command {
	return command{use: "resources", short: "manage downstream systems and their limits: list, get, set, reset", subs: []command{
		{use: "list", short: "list the resources, their limits and their use", long: resourcesLong, args: between(0, 0, ""),
			bind: func(fs *pflag.FlagSet) runner {
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
		{use: "set NAME", short: "change the limits of a resource without a restart", args: between(1, 1, "NAME"),
			example: `  weir resources set send-message --rate 450/s --concurrency 8`, bind: bindResourceSet},
		{use: "reset NAME", short: "restore the limits of the configuration file or of the actions",
			args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, args []string) error {
					if err := l.ResetResource(ctx, args[0]); err != nil {
						return err
					}
					r, err := l.Resource(ctx, args[0])
					if client.IsCode(err, "not_found") {
						l.say("the limits of %s are deleted; no action uses it", args[0])
						return nil
					}
					if err != nil {
						return err
					}
					return one(l, resourceView(), r)
				})
			}},
	}}
}

func bindResourceSet(fs *pflag.FlagSet) runner {
	rate := fs.String("rate", "", "maximum items per second over all nodes, as in `450/s`, or unlimited")
	concurrency := fs.Int("concurrency", 0, "maximum concurrent calls over all nodes; 0 means no limit")
	var pacing config.Pacing
	fs.Var(&pacing, "pacing", "how a rate is used: smooth (an even stream of small calls) or full (few calls with full batches)")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		var r api.Resource
		if fs.Changed("rate") {
			r.Rate = new(api.Rate)
			if err := r.Rate.UnmarshalText([]byte(*rate)); err != nil {
				what, fix := whatToWrite(err.Error())
				return badUsage(cmp.Or(fix, "write it as in 450/s, or unlimited"), "--rate: %s", what)
			}
		}
		if fs.Changed("concurrency") {
			r.Concurrency = concurrency
		}
		if fs.Changed("pacing") {
			r.Pacing = (*string)(&pacing)
		}
		if r == (api.Resource{}) {
			return badUsage("add --rate 450/s, --concurrency 8 or --pacing full", "no limit is given")
		}
		s, err := l.PutResource(ctx, args[0], r)
		if err != nil {
			return err
		}
		if s.Note != "" {
			l.say("note: %s", tame(s.Note))
		}
		return one(l, resourceView(), s)
	})
}

func tenantView() view[api.Tenant] {
	type t = api.Tenant
	return view[t]{plural: "tenants", id: func(x *t) string { return x.Name }, columns: []column[t]{
		{"name", func(x *t) any { return x.Name }},
		{"weight", func(x *t) any { return cmp.Or(x.Weight, 1) }},
		{"max tasks", func(x *t) any { return none(int64(x.MaxTasks)) }},
		{"max pending", func(x *t) any { return none(x.MaxPending) }},
		{"paused", func(x *t) any { return x.Paused }},
		{"origin", func(x *t) any { return x.Origin }},
		{"changed", func(x *t) any { return changedText(x.Provenance) }},
		{"file", func(x *t) any { return fileTenant(x.File) }},
	}}
}

// fileTenant tells what the configuration file says of a tenant that was changed at run time.
func fileTenant(t *api.Tenant) string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("weight %g", cmp.Or(t.Weight, 1))
	if t.MaxTasks > 0 {
		text += fmt.Sprintf(", max tasks %d", t.MaxTasks)
	}
	if t.MaxPending > 0 {
		text += fmt.Sprintf(", max pending %d", t.MaxPending)
	}
	return text
}

func tenantsCommand() command {
	return command{use: "tenants", short: "manage tenants and their limits: list, set, reset", subs: []command{
		{use: "list", short: "list the tenants", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, tenantView(), l.Tenants(ctx), 0) })
		}},
		{use: "set NAME", short: "change the weight and the limits of a tenant", args: between(1, 1, "NAME"),
			example: `  weir tenants set growth --weight 3 --max-tasks 50`, bind: bindTenantSet},
		{use: "reset NAME", short: "restore the settings of the configuration file, or the defaults",
			args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, args []string) error {
					if err := l.DeleteTenant(ctx, args[0]); err != nil {
						return err
					}
					t, err := l.Tenant(ctx, args[0])
					if err != nil {
						return err
					}
					return one(l, tenantView(), t)
				})
			}},
	}}
}

func bindTenantSet(fs *pflag.FlagSet) runner {
	var t api.Tenant
	fs.Float64Var(&t.Weight, "weight", 1, "share relative to other tenants: `N` gets N times as much as 1")
	fs.IntVar(&t.MaxTasks, "max-tasks", 0, "maximum tasks in flight on a node; `N` = 0 means no limit")
	fs.Int64Var(&t.MaxPending, "max-pending", 0, "maximum items accepted and not ended; `N` = 0 means no limit")
	fs.BoolVar(&t.Paused, "paused", false, "start no tasks of the tenant; --paused=false resumes it")
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
