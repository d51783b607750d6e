package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

var webhookEvents = []option{{"bulk_action.completed", "has completed"}, {"bulk_action.cancelled", "was cancelled"}, {"bulk_action.stopped", "was stopped by a rule"},
	{"bulk_action.failed", "cannot continue"}, {"bulk_action.canary_ready", "waits for approval after its canary"}, {"bulk_action.late", "will miss its deadline"}}

var webhookKind = kind[api.Webhook]{
	tab: "Webhooks", path: "webhooks", noun: "webhook", scope: "control", weir: "weir webhooks list", made: true,
	text:  "Endpoints that are told when a bulk action ends, stops or needs somebody.",
	empty: "A webhook tells an endpoint of yours when a bulk action has completed or needs somebody. Create the first one, and send it a test event.",
	heads: []head{{Name: "Endpoint"}, {Name: "State"}, {Name: "Tenant", P2: true}, {Name: "Events", P2: true}, {Name: "From", P2: true}},
	of:    (*client.Client).Webhooks,
	name:  func(w *api.Webhook) string { return w.ID }, title: func(w *api.Webhook) string { return w.URL },
	origin: func(w *api.Webhook) (api.Provenance, bool) { return w.Provenance, w.File != nil },
	row: func(_ *visit, w *api.Webhook) []cell {
		return []cell{{Text: w.URL, Link: "/settings/webhooks/" + escape(w.ID), Sub: w.Note}, {Sign: webhookSign(w), Sub: w.Reason}, {Text: cmp.Or(w.Tenant, "All"), P2: true},
			{Text: cmp.Or(strings.ReplaceAll(strings.Join(w.Events, ", "), "bulk_action.", ""), "All"), P2: true}, originCell(w.Provenance, w.File != nil)}
	},
	verbs: func(w *api.Webhook) []act {
		return []act{{Name: "Test", Of: w.URL, Path: "/settings/webhooks/" + escape(w.ID) + "/test", Post: true, Scope: "control"}}
	},
	inputs: webhookInputs,
	read: func(_ *visit, s *sheet, w *api.Webhook) {
		w.URL, w.Note, w.Disabled, w.Events = s.at("url").Value, s.at("note").Value, s.at("disabled").Checked(), nil
		if !s.at("tenant").Fixed {
			w.Tenant = s.at("tenant").Value
		}
		for _, e := range webhookEvents {
			if s.at("events." + e.Value).Checked() {
				w.Events = append(w.Events, e.Value)
			}
		}
		if len(w.Events) == len(webhookEvents) {
			w.Events = nil // all, also those of later versions
		}
	},
	gone: func(*api.Webhook) []fact {
		return []fact{{"Will not be sent", "events from now on, and deliveries that wait"}, {"Stays", "what was delivered"}}
	},
}

func webhookSign(w *api.Webhook) *sign {
	if w.Disabled {
		return &sign{"paused", "Disabled", "paused"}
	}
	return &sign{"done", "On", "done"}
}

func webhookInputs(_ *visit, w *api.Webhook) []*input {
	list := []*input{
		{Name: "url", Label: "URL", Kind: "url", Value: w.URL, Needed: true, Place: "https://crm.example.com/weir"},
		{Name: "tenant", Half: true, Label: "Tenant", Value: w.Tenant, Fixed: w.ID != "", Hint: "Whose events it receives. Empty: the only tenant of your key, else all."},
		{Name: "note", Half: true, Label: "Note, for people", Value: w.Note},
	}
	for i, e := range webhookEvents {
		group := ""
		if i == 0 {
			group = "Tell it when a bulk action"
		}
		list = append(list, &input{Name: "events." + e.Value, Label: e.Name, Group: group, Kind: "check", Value: checked(len(w.Events) == 0 || slices.Contains(w.Events, e.Value))})
	}
	return append(list, &input{Name: "disabled", Label: "Disabled: events are not sent", Kind: "check", Value: checked(w.Disabled)})
}

// webhookPage is the page of one webhook, with what was sent to it.
type webhookPage struct {
	api.Webhook
	Sign       *sign
	From       string
	Deliveries settingsPage
}

// deliveryPage is the page of one delivery.
type deliveryPage struct {
	api.Delivery
	Sign sign
}

func (d *Dashboard) webhookPages() {
	register(d, &webhookKind)
	d.sheet("/settings/new/webhook", func(_ context.Context, v *visit) (*sheet, error) {
		s := webhookKind.sheet(v, &api.Webhook{})
		s.Title, s.Button, s.Stay, s.Once = "New webhook", "Create the webhook", "Create nothing", true
		s.Text = "Events are signed as in Standard Webhooks. The secret to check them is shown once, after the webhook was created."
		return s, nil
	}, d.createWebhook)
	d.page("/settings/webhooks/{name}", "webhook", d.webhook)
	d.form("/settings/webhooks/{name}/test", d.testWebhook)
	d.sheet("/settings/webhooks/{name}/rotate", d.askRotate, d.rotate)
	d.page("/settings/deliveries/{id}", "delivery", d.delivery)
	d.form("/settings/deliveries/{id}/resend", d.resend)
}

func secretOf(title string, w *api.Webhook, text string) done {
	return done{Show: &pageAgain{"secret", content{Title: title, Nav: "Settings", Page: secretPage{
		Title: title, Up: "/settings/webhooks/" + escape(w.ID), UpName: w.URL, Name: "Signing secret", Secret: w.Secret, LeftOut: w.LeftOut, Text: text,
		Facts: []fact{{"Id", w.ID}, {"Endpoint", w.URL}},
	}}}}
}

func (d *Dashboard) createWebhook(ctx context.Context, v *visit, s *sheet) (done, error) {
	var w api.Webhook
	if webhookKind.read(v, s, &w); s.bad() {
		return done{}, s.again(v)
	}
	made, err := v.api.Webhooks().Create(v.once(ctx), w)
	if err != nil {
		return done{}, err
	}
	return secretOf("The webhook is created", &made, "Copy it into the program that receives the events. If it is lost, rotate it."), nil
}

func (d *Dashboard) askRotate(ctx context.Context, v *visit) (*sheet, error) {
	w, err := v.api.Webhooks().Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &sheet{nav: "Settings", Title: "Rotate the secret", Up: "/settings/webhooks/" + escape(w.ID), UpName: w.URL, Scope: "control", Button: "Rotate the secret", Once: true,
		Text: "Makes a new secret, which is shown once. Events are signed with both for a while, so that the receiver can change over.",
		Inputs: []*input{{Name: "keep", Label: "Sign with the previous one, too, for", Place: "24h", Hint: "If it has leaked, write 0s: it is not used any more at once."},
			{Name: "reason", Label: "Reason, for the audit log"}}}, nil
}

func (d *Dashboard) rotate(ctx context.Context, v *visit, s *sheet) (done, error) {
	r := api.Rotate{Reason: s.at("reason").Value}
	if s.at("keep").Value != "" {
		keep := s.duration("keep")
		r.Keep = &keep
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	w, err := v.api.RotateWebhook(v.once(ctx), v.PathValue("name"), r)
	if err != nil {
		return done{}, err
	}
	return secretOf("The secret is rotated", &w, "Copy it into the program that receives the events."), nil
}

var deliverySigns = map[string]sign{"waiting": {"waiting", "Waiting", "waiting"}, "delivered": {"done", "Delivered", "done"}, "failed": {"failed", "Failed", "failed"}, "cancelled": {"cancelled", "Cancelled", "cancelled"}}

// mostDeliveries is how many deliveries of a webhook are shown.
const mostDeliveries = 50

func (d *Dashboard) webhook(ctx context.Context, v *visit) (content, error) {
	w, err := v.api.Webhooks().Get(ctx, v.PathValue("name"))
	if err != nil {
		return content{}, err
	}
	all, err := collect(v.api.Deliveries(ctx, w.ID), mostDeliveries+1)
	if err != nil {
		return content{}, err
	}
	page := webhookPage{Webhook: w, Sign: webhookSign(&w), From: originText(v, w.Provenance, w.File != nil), Deliveries: settingsPage{Name: "Deliveries", More: len(all) > mostDeliveries,
		Heads: []head{{Name: "Event"}, {Name: "State"}, {Name: "Bulk action", P2: true}, {Name: "Attempts", P2: true, Num: true}, {Name: "Answer", P2: true}, {Name: "Created"}, {}}}}
	for i := range all[:min(len(all), mostDeliveries)] {
		x := &all[i]
		s, status := deliverySigns[x.State], "–"
		if n := len(x.Attempts); n > 0 {
			status = attemptText(&x.Attempts[n-1])
		}
		bulk := cell{Text: "–", P2: true}
		if x.BulkAction != "" {
			bulk = cell{Text: x.BulkAction, Link: "/bulk-actions/" + escape(x.BulkAction), P2: true}
		}
		page.Deliveries.Rows = append(page.Deliveries.Rows, []cell{{Text: x.Type, Link: "/settings/deliveries/" + escape(x.ID)}, {Sign: &s}, bulk,
			{Text: format.Count(int64(len(x.Attempts))), Num: true, P2: true}, {Text: status, P2: true, Code: true}, {At: x.CreatedAt},
			{Acts: []act{{Name: "Send again", Of: x.Type, Path: "/settings/deliveries/" + escape(x.ID) + "/resend", Post: true, Scope: "control"}}}})
	}
	return content{Title: w.URL, Nav: "Settings", Page: page, Weir: []string{"weir webhooks get " + w.ID, "weir webhooks deliveries " + w.ID}}, nil
}

// attemptText says how an attempt ended.
func attemptText(a *api.DeliveryAttempt) string {
	status := ""
	if a.Status > 0 {
		status = fmt.Sprint(a.Status)
	}
	return strings.TrimSpace(strings.Join([]string{status, a.Code, a.Error}, " "))
}

func (d *Dashboard) testWebhook(ctx context.Context, v *visit) (done, error) {
	id := v.PathValue("name")
	x, err := v.api.TestWebhook(ctx, id)
	if err != nil {
		return done{}, err
	}
	n := note{Text: "The test event was delivered.", Weir: []string{"weir webhooks test " + id}}
	if len(x.Attempts) > 0 {
		last := &x.Attempts[len(x.Attempts)-1]
		n.Then = fmt.Sprintf("Answered %s in %s.", attemptText(last), format.Duration(time.Duration(last.Took)))
	}
	if x.State != "delivered" {
		n.Text, n.Bad = "The test event was not delivered.", true
	}
	return done{To: "/settings/webhooks/" + escape(id), Note: n}, nil
}

func (d *Dashboard) delivery(ctx context.Context, v *visit) (content, error) {
	x, err := v.api.Delivery(ctx, v.PathValue("id"))
	if err != nil {
		return content{}, err
	}
	return content{Title: x.Type, Nav: "Settings", Page: deliveryPage{x, deliverySigns[x.State]}}, nil
}

func (d *Dashboard) resend(ctx context.Context, v *visit) (done, error) {
	id := v.PathValue("id")
	_, err := v.api.Resend(ctx, id)
	return done{To: "/settings/deliveries/" + escape(id), Note: note{Text: "It is sent again, with the same id and bytes.", Weir: []string{"weir webhooks resend " + id}}}, err
}
