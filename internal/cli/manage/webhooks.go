package manage

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
)

var webhooks = kind[api.Webhook]{
	noun: "webhook", arg: "ID", of: (*client.Client).Webhooks,
	view: command.NewView("webhooks", "id", "id, url, events, tenant, disabled, reason, note, origin, changed",
		"secret, public key", command.Texts[api.Webhook]{
			"events":  func(x *api.Webhook) any { return cmp.Or(strings.Join(x.Events, ","), "all") },
			"changed": func(x *api.Webhook) any { return changedText(x.Provenance) },
		}),
}

var deliveryView = command.NewView("deliveries", "id",
	"id, type, bulk action, state, attempts, last, next=next_attempt_at, created=created_at", "",
	command.Texts[api.Delivery]{
		"attempts": func(x *api.Delivery) any { return len(x.Attempts) },
		"last":     func(x *api.Delivery) any { return lastAttempt(x.Attempts) },
	})

func lastAttempt(all []api.DeliveryAttempt) string {
	if len(all) == 0 {
		return ""
	}
	a := all[len(all)-1]
	if a.Code != "" {
		return strings.TrimSpace(a.Code + " " + a.Error)
	}
	return fmt.Sprint(a.Status)
}

func webhooksCommand() command.Command {
	return command.Command{Use: "webhooks",
		Short: "manage webhooks, endpoints that receive events: list, get, create, delete, rotate, test, deliveries, resend",
		Subs: []command.Command{
			webhooks.list("list the webhooks", ""), webhooks.get("show a webhook"),
			{Use: "create URL", Short: "create a webhook; its secret is shown once", Args: command.Args(1, 1, "URL"),
				Bind: bindWebhookCreate},
			webhooks.delete("delete a webhook; its pending deliveries are cancelled"),
			{Use: "rotate ID", Short: "give a webhook a new secret, which is shown once", Args: command.Args(1, 1, "ID"), Bind: bindWebhookRotate},
			{Use: "test ID", Short: "send a test event to a webhook and show the result", Args: command.Args(1, 1, "ID"),
				Bind: func(fs *pflag.FlagSet) command.Runner {
					return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
						d, err := l.TestWebhook(ctx, args[0])
						return delivered(l, d, err)
					})
				}},
			{Use: "deliveries ID", Short: "list the deliveries of a webhook or of a bulk action", Args: command.Args(1, 1, "ID"),
				Bind: func(fs *pflag.FlagSet) command.Runner {
					limit := command.LimitFlag(fs, 50)
					return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
						if strings.HasPrefix(args[0], "ba_") {
							return command.List(l.Printer, deliveryView, l.BulkDeliveries(ctx, args[0]), *limit)
						}
						return command.List(l.Printer, deliveryView, l.Deliveries(ctx, args[0]), *limit)
					})
				}},
			{Use: "resend DELIVERY-ID", Short: "send a delivery again, with the same id and bytes",
				Args: command.Args(1, 1, "DELIVERY-ID"), Bind: func(fs *pflag.FlagSet) command.Runner {
					return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
						d, err := l.Resend(ctx, args[0])
						return delivered(l, d, err)
					})
				}},
		}}
}

// delivered shows a delivery. One that failed is the command's failure, too.
func delivered(l *link.Link, d api.Delivery, err error) error {
	if err != nil {
		return err
	}
	if err := command.One(l.Printer, deliveryView, d); err != nil {
		return err
	}
	if d.State == "failed" {
		return command.Ended(command.ExitOther)
	}
	return nil
}

func bindWebhookCreate(fs *pflag.FlagSet) command.Runner {
	var w api.Webhook
	fs.StringArrayVar(&w.Events, "event", nil, "event `TYPE` to send, as in bulk_action.completed; repeatable (default all)")
	fs.StringVar(&w.Tenant, "tenant", "", "only events of this `TENANT`")
	fs.StringVar(&w.Note, "note", "", "`TEXT` that describes the webhook")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		w.URL = args[0]
		made, err := l.Webhooks().Create(ctx, w)
		return secretShown(l, made, err)
	})
}

func bindWebhookRotate(fs *pflag.FlagSet) command.Runner {
	var r api.Rotate
	keep := fs.String("keep", "", "`DURATION` for which events are also signed with the previous secret; 0s: it has leaked (default 24h)")
	fs.StringVar(&r.Reason, "reason", "", "`TEXT` for the audit log")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		if *keep != "" {
			r.Keep = new(api.Duration)
			if err := r.Keep.UnmarshalText([]byte(*keep)); err != nil {
				return command.BadUsage("write it as in 0s, 90m or 24h", "--keep %q is not a duration", *keep)
			}
		}
		made, err := l.RotateWebhook(ctx, args[0], r)
		return secretShown(l, made, err)
	})
}

// secretShown shows a webhook with its new secret.
func secretShown(l *link.Link, w api.Webhook, err error) error {
	if err != nil {
		return err
	}
	if err := command.One(l.Printer, webhooks.view, w); err != nil {
		return err
	}
	if w.Secret != "" {
		l.Say("save the secret: it is not shown again")
	}
	return nil
}
