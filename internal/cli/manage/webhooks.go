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
		Short: "manage webhooks, endpoints that receive events: list, get, create, delete, test, deliveries, resend",
		Subs: []command.Command{
			webhooks.list("list the webhooks", ""), webhooks.get("show a webhook"),
			{Use: "create URL", Short: "create a webhook; its secret is shown once", Args: command.Args(1, 1, "URL"),
				Bind: bindWebhookCreate},
			webhooks.delete("delete a webhook; its pending deliveries are cancelled"),
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
		if err != nil {
			return err
		}
		if err := command.One(l.Printer, webhooks.view, made); err != nil {
			return err
		}
		if made.Secret != "" {
			l.Say("save the secret: it is not shown again")
		}
		return nil
	})
}
