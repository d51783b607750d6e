package manage

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

var resources = kind[api.ResourceStatus]{
	noun: "resource", arg: "NAME", of: (*client.Client).Resources,
	view: command.NewView("resources", "name",
		"name, rate, concurrency?, pacing, allowed now, use, in flight, ready, circuit, reason",
		"outage, bearable?, origin, changed, file, effective=effective_at", command.Texts[api.ResourceStatus]{
			"allowed now": func(x *api.ResourceStatus) any { return positiveRate(x.Allowed) },
			"use":         func(x *api.ResourceStatus) any { return rateUse(x) },
			"reason":      func(x *api.ResourceStatus) any { return command.Whole(x.Reason) },
			"outage":      func(x *api.ResourceStatus) any { return command.Whole(outageText(x.Outage)) },
			"changed":     func(x *api.ResourceStatus) any { return changedText(x.Provenance) },
			"file":        func(x *api.ResourceStatus) any { return fileLimits(x.File) },
		}),
}

// rateUse is the share of the allowed rate that is used; a resource without a rate has none.
func rateUse(r *api.ResourceStatus) string {
	if r.Rate == 0 && r.Allowed == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", r.Use*100)
}

// outageText tells since when and why a circuit is open, and when its next call is.
func outageText(o *api.Outage) string {
	if o == nil {
		return ""
	}
	text := "open since " + term.ClockTime(o.Since)
	if o.ByHand {
		return text + " by hand, until " + term.ClockTime(o.Until)
	}
	text += fmt.Sprintf(": %d of %d calls failed", o.Failed, o.Calls)
	if o.Code != "" {
		text += ", last with " + o.Code
	}
	if o.Probes > 0 {
		text += fmt.Sprintf("; %d probes failed since", o.Probes)
	}
	if !o.NextProbe.IsZero() {
		text += "; next probe " + term.ClockTime(o.NextProbe)
	}
	return text
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
	text := term.ClockTime(p.ChangedAt)
	if p.ChangedBy != "" {
		text += " by " + p.ChangedBy
	}
	return text
}

func positiveRate(r float64) any {
	if r <= 0 {
		return ""
	}
	return term.PerSecond(r)
}

const resourcesLong = `Lists the resources, their limits, and how they are used.

  ALLOWED NOW  the rate that flow control allows, if that is below the limit
  USE          the share of ALLOWED NOW, or else of RATE, that was used recently; above 100% shortly after the rate
               was cut, and – if no rate is set
  IN FLIGHT    calls
  READY        items`

func resourcesCommand() command.Command {
	return command.Command{Use: "resources", Short: "manage downstream systems and their limits: list, get, set, reset",
		Subs: []command.Command{
			resources.list("list the resources, their limits and their use", resourcesLong), resources.get("show a resource"),
			{Use: "set NAME", Short: "change the limits of a resource without a restart", Args: command.Args(1, 1, "NAME"),
				Example: `  weir resources set send-message --rate 450/s --concurrency 8
  weir resources set send-message --rate 450/s --dry-run`, Bind: bindResourceSet},
			resources.reset("restore the limits of the configuration file or of the actions", "the limits of %s are deleted; no action uses it"),
		}}
}

func bindResourceSet(fs *pflag.FlagSet) command.Runner {
	rate := fs.String("rate", "", "maximum items per second over all nodes, as in `450/s`, or unlimited")
	concurrency := fs.Int("concurrency", 0, "maximum concurrent calls over all nodes; 0 means no limit")
	var pacing config.Pacing
	fs.Var(&pacing, "pacing", "how a rate is used: smooth (an even stream of small calls) or full (few calls with full batches)")
	dry := fs.Bool("dry-run", false, dryRun)
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		var r api.Resource
		if fs.Changed("rate") {
			r.Rate = new(api.Rate)
			if err := r.Rate.UnmarshalText([]byte(*rate)); err != nil {
				what, fix := command.WhatToWrite(err.Error())
				return command.BadUsage(cmp.Or(fix, "write it as in 450/s, or unlimited"), "--rate: %s", what)
			}
		}
		if fs.Changed("concurrency") {
			r.Concurrency = concurrency
		}
		if fs.Changed("pacing") {
			r.Pacing = (*string)(&pacing)
		}
		if r == (api.Resource{}) {
			return command.BadUsage("add --rate 450/s, --concurrency 8 or --pacing full", "no limit is given")
		}
		if *dry {
			return printEffect(ctx, l, api.LimitChanges{Resources: map[string]api.Resource{args[0]: r}})
		}
		s, err := l.PutResource(ctx, args[0], r)
		if err != nil {
			return err
		}
		if s.Note != "" {
			l.Say("note: %s", term.Tame(s.Note))
		}
		return command.One(l.Printer, resources.view, s)
	})
}

var tenants = kind[api.Tenant]{
	noun: "tenant", arg: "NAME", of: (*client.Client).Tenants,
	view: command.NewView("tenants", "name", "name, weight, max tasks?, max pending?, paused, origin, changed, file", "",
		command.Texts[api.Tenant]{
			"weight":  func(x *api.Tenant) any { return cmp.Or(x.Weight, 1) },
			"changed": func(x *api.Tenant) any { return changedText(x.Provenance) },
			"file":    func(x *api.Tenant) any { return fileTenant(x.File) },
		}),
}

// fileTenant tells what the configuration file says of a tenant that was changed at run time.
func fileTenant(t *api.Tenant) string {
	if t == nil {
		return ""
	}
	text := "weight " + strconv.FormatFloat(cmp.Or(t.Weight, 1), 'f', -1, 64)
	if t.MaxTasks > 0 {
		text += fmt.Sprintf(", max tasks %d", t.MaxTasks)
	}
	if t.MaxPending > 0 {
		text += fmt.Sprintf(", max pending %d", t.MaxPending)
	}
	return text
}

func tenantsCommand() command.Command {
	return command.Command{Use: "tenants", Short: "manage tenants and their limits: list, get, set, reset",
		Subs: []command.Command{
			tenants.list("list the tenants", ""), tenants.get("show a tenant and its limits"),
			{Use: "set NAME", Short: "change the weight and the limits of a tenant", Args: command.Args(1, 1, "NAME"),
				Example: `  weir tenants set growth --weight 3 --max-tasks 50`, Bind: bindTenantSet},
			tenants.reset("restore the settings of the configuration file, or the defaults", ""),
		}}
}

func bindTenantSet(fs *pflag.FlagSet) command.Runner {
	var t api.Tenant
	fs.Float64Var(&t.Weight, "weight", 1, "share relative to other tenants: `N` gets N times as much as 1")
	fs.IntVar(&t.MaxTasks, "max-tasks", 0, "maximum tasks in flight on a node; `N` = 0 means no limit")
	fs.Int64Var(&t.MaxPending, "max-pending", 0, "maximum items accepted and not ended; `N` = 0 means no limit")
	dry := fs.Bool("dry-run", false, dryRun+"; with --weight alone")
	fs.BoolVar(&t.Paused, "paused", false, "start no tasks of the tenant; --paused=false resumes it")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		if fs.Changed("weight") && t.Weight <= 0 {
			return command.BadUsage("write more than 0; --paused stops a tenant", "--weight: %g is not above 0", t.Weight)
		}
		if *dry {
			if fs.Changed("max-tasks") || fs.Changed("max-pending") || fs.Changed("paused") || !fs.Changed("weight") {
				return command.BadUsage("write --weight 3 --dry-run", "--dry-run: only the effect of --weight can be simulated")
			}
			return printEffect(ctx, l, api.LimitChanges{Weights: map[string]float64{args[0]: t.Weight}})
		}
		out, err := l.Tenants().Change(ctx, args[0], func(now *api.Tenant) error {
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
		return command.One(l.Printer, tenants.view, out)
	})
}
