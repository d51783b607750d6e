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

func webhookKind() kind[api.Webhook] {
	type w = api.Webhook
	view := command.View[w]{
		Plural: "webhooks",
		ID:     func(x *w) string { return x.ID },
		Columns: []command.Column[w]{
			command.Col("id", func(x *w) any { return x.ID }),
			command.Col("url", func(x *w) any { return x.URL }),
			command.Col("events", func(x *w) any { return cmp.Or(strings.Join(x.Events, ","), "all") }),
			command.Col("tenant", func(x *w) any { return x.Tenant }),
			command.Col("disabled", func(x *w) any { return x.Disabled }),
			command.Col("reason", func(x *w) any { return x.Reason }),
			command.Col("note", func(x *w) any { return x.Note }),
			command.Col("origin", func(x *w) any { return x.Origin }),
			command.Col("changed", func(x *w) any { return changedText(x.Provenance) }),
		},
		More: []command.Column[w]{
			command.Col("secret", func(x *w) any { return x.Secret }), command.Col("public key", func(x *w) any { return x.PublicKey }),
		},
	}
	return kind[w]{noun: "webhook", arg: "ID", view: view, of: (*client.Client).Webhooks}
}

func deliveryView() command.View[api.Delivery] {
	type d = api.Delivery
	return command.View[d]{
		Plural: "deliveries",
		ID:     func(x *d) string { return x.ID },
		Columns: []command.Column[d]{
			command.Col("id", func(x *d) any { return x.ID }),
			command.Col("type", func(x *d) any { return x.Type }),
			command.Col("bulk action", func(x *d) any { return x.BulkAction }),
			command.Col("state", func(x *d) any { return x.State }),
			command.Col("attempts", func(x *d) any { return len(x.Attempts) }),
			command.Col("last", func(x *d) any { return lastAttempt(x.Attempts) }),
			command.Col("next", func(x *d) any { return x.Next }),
			command.Col("created", func(x *d) any { return x.CreatedAt }),
		},
	}
}

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
	k := webhookKind()
	return command.Command{Use: "webhooks",
		Short: "manage webhooks, endpoints that receive events: list, create, delete, test, deliveries, resend",
		Subs: []command.Command{
			k.list("list the webhooks", ""),
			{Use: "create URL", Short: "create a webhook; its secret is shown once", Args: command.Args(1, 1, "URL"),
				Bind: bindWebhookCreate},
			k.delete("delete a webhook; its pending deliveries are cancelled"),
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
							return command.List(l.Printer, deliveryView(), l.BulkDeliveries(ctx, args[0]), *limit)
						}
						return command.List(l.Printer, deliveryView(), l.Deliveries(ctx, args[0]), *limit)
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
	if err := command.One(l.Printer, deliveryView(), d); err != nil {
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
		if err := command.One(l.Printer, webhookKind().view, made); err != nil {
			return err
		}
		if made.Secret != "" {
			l.Say("save the secret: it is not shown again")
		}
		return nil
	})
}
