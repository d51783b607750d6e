package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func webhookView() view[api.Webhook] {
	type w = api.Webhook
	return view[w]{
		plural: "webhooks",
		id:     func(x *w) string { return x.ID },
		columns: []column[w]{
			{"id", func(x *w) any { return x.ID }},
			{"url", func(x *w) any { return x.URL }},
			{"events", func(x *w) any { return cmp.Or(strings.Join(x.Events, ","), "all") }},
			{"tenant", func(x *w) any { return x.Tenant }},
			{"disabled", func(x *w) any { return x.Disabled }},
			{"reason", func(x *w) any { return x.Reason }},
			{"note", func(x *w) any { return x.Note }},
			{"origin", func(x *w) any { return x.Origin }},
			{"changed", func(x *w) any { return changedText(x.Provenance) }},
		},
		more: []column[w]{{"secret", func(x *w) any { return x.Secret }}, {"public key", func(x *w) any { return x.PublicKey }}},
	}
}

func deliveryView() view[api.Delivery] {
	type d = api.Delivery
	return view[d]{
		plural: "deliveries",
		id:     func(x *d) string { return x.ID },
		columns: []column[d]{
			{"id", func(x *d) any { return x.ID }},
			{"type", func(x *d) any { return x.Type }},
			{"bulk action", func(x *d) any { return x.BulkAction }},
			{"state", func(x *d) any { return x.State }},
			{"attempts", func(x *d) any { return len(x.Attempts) }},
			{"last", func(x *d) any { return lastAttempt(x.Attempts) }},
			{"next", func(x *d) any { return x.Next }},
			{"created", func(x *d) any { return x.CreatedAt }},
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

func webhooksCommand() command {
	return command{use: "webhooks",
		short: "manage webhooks, endpoints that receive events: list, create, delete, test, deliveries, resend", subs: []command{
			{use: "list", short: "list the webhooks", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, _ []string) error {
					return list(l, webhookView(), l.Webhooks(ctx), 0)
				})
			}},
			{use: "create URL", short: "create a webhook; its secret is shown once", args: between(1, 1, "URL"), bind: bindWebhookCreate},
			removing("delete ID", "delete a webhook; its pending deliveries are cancelled", "the webhook",
				func(ctx context.Context, l *link, id string) error { return l.DeleteWebhook(ctx, id) }),
			{use: "test ID", short: "send a test event to a webhook and show the result", args: between(1, 1, "ID"),
				bind: func(fs *pflag.FlagSet) runner {
					return online(fs, func(ctx context.Context, l *link, args []string) error {
						d, err := l.TestWebhook(ctx, args[0])
						return l.delivered(d, err)
					})
				}},
			{use: "deliveries ID", short: "list the deliveries of a webhook or of a bulk action", args: between(1, 1, "ID"),
				bind: func(fs *pflag.FlagSet) runner {
					limit := limitFlag(fs, 50)
					return online(fs, func(ctx context.Context, l *link, args []string) error {
						if strings.HasPrefix(args[0], "ba_") {
							return list(l, deliveryView(), l.BulkDeliveries(ctx, args[0]), *limit)
						}
						return list(l, deliveryView(), l.Deliveries(ctx, args[0]), *limit)
					})
				}},
			{use: "resend DELIVERY-ID", short: "send a delivery again, with the same id and bytes",
				args: between(1, 1, "DELIVERY-ID"), bind: func(fs *pflag.FlagSet) runner {
					return online(fs, func(ctx context.Context, l *link, args []string) error {
						d, err := l.Resend(ctx, args[0])
						return l.delivered(d, err)
					})
				}},
		}}
}

// delivered shows a delivery. One that failed is the command's failure, too.
func (l *link) delivered(d api.Delivery, err error) error {
	if err != nil {
		return err
	}
	if err := one(l, deliveryView(), d); err != nil {
		return err
	}
	if d.State == "failed" {
		return ended(exitOther)
	}
	return nil
}

func bindWebhookCreate(fs *pflag.FlagSet) runner {
	var w api.Webhook
	fs.StringArrayVar(&w.Events, "event", nil, "event `TYPE` to send, as in bulk_action.completed; repeatable (default all)")
	fs.StringVar(&w.Tenant, "tenant", "", "only events of this `TENANT`")
	fs.StringVar(&w.Note, "note", "", "`TEXT` that describes the webhook")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
		w.URL = args[0]
		made, err := l.CreateWebhook(ctx, w)
		if err != nil {
			return err
		}
		if err := one(l, webhookView(), made); err != nil {
			return err
		}
		if made.Secret != "" {
			l.say("save the secret: it is not shown again")
		}
		return nil
	})
}
