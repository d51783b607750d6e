package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// typeAbove is the number of items above which a dangerous verb asks for the number to be typed.
const typeAbove = 10_000

// verb is something that a person can do with a bulk action.
type verb struct {
	Name   string // in the address
	Button string
	Icon   string
	Danger bool // asks on a page of its own
	states []api.State
	do     func(context.Context, *client.Client, string, string) error
	// Told says what the verb has done.
	Told string
}

// bulkVerb makes a verb of a method of the client.
func bulkVerb(f func(*client.Client, context.Context, string, string) (api.BulkAction, error),
) func(context.Context, *client.Client, string, string) error {
	return func(ctx context.Context, c *client.Client, id, reason string) error {
		_, err := f(c, ctx, id, reason)
		return err
	}
}

var verbs = []verb{
	{Name: "start", Button: "Start", Icon: "running", states: []api.State{api.Sealed}, Told: "It starts now.",
		do: func(ctx context.Context, c *client.Client, id, reason string) error {
			_, err := c.Start(ctx, id, api.Start{Reason: reason})
			return err
		}},
	{Name: "approve", Button: "Approve the rest", Icon: "approve", states: []api.State{api.Awaiting},
		do: bulkVerb((*client.Client).Approve), Told: "The rest is approved, and runs."},
	{Name: "pause", Button: "Pause", Icon: "paused", states: []api.State{api.Running},
		do: bulkVerb((*client.Client).Pause), Told: "It is paused. Calls that were running end; nothing is lost. Resume it at any time."},
	{Name: "resume", Button: "Resume", Icon: "running", states: []api.State{api.Paused, api.Stopped},
		do: bulkVerb((*client.Client).Resume), Told: "It runs again."},
	{Name: "cancel", Button: "Cancel", Danger: true, do: bulkVerb((*client.Client).Cancel),
		states: []api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled},
		Told:   "It is being cancelled. Calls that were running end."},
}

// verbsOf returns what can be done in a state.
func (d *Dashboard) verbsOf(s api.State) (list []verb) {
	if d.opts.ReadOnly {
		return nil
	}
	for _, v := range verbs {
		if v.possible(s) {
			list = append(list, v)
		}
	}
	return list
}

func (v *verb) possible(s api.State) bool { return slices.Contains(v.states, s) }

func verbNamed(name string) *verb {
	for i := range verbs {
		if verbs[i].Name == name {
			return &verbs[i]
		}
	}
	return nil
}

// errNotNow means that a verb does not fit the state of a bulk action.
var errNotNow = errors.New("this cannot be done now")

// confirmPage asks before something that cannot be taken back.
type confirmPage struct {
	Verb                 *verb
	Bulk                 api.BulkAction
	Items                int64 // that it is about
	Type                 bool  // the number has to be typed
	Typed, Reason, Fault string
	WillNot, Will, Stays string
}

// confirm shows what a dangerous verb would do.
func (d *Dashboard) confirm(ctx context.Context, v *visit) (content, error) {
	verb := verbNamed(v.PathValue("verb"))
	b, err := v.api.Get(ctx, v.PathValue("id"))
	if err != nil {
		return content{}, err
	}
	if verb == nil || d.opts.ReadOnly || !verb.Danger || !verb.possible(b.State) {
		return content{}, fmt.Errorf("%w: %s is %s", errNotNow, b.Name, strings.ToLower(signOf(b.State).Word))
	}
	c := b.Counts
	page := confirmPage{Verb: verb, Bulk: b, Items: c.Ready + c.Waiting, Typed: v.FormValue("items"), Reason: v.FormValue("reason"),
		WillNot: fmt.Sprintf("%s ready and %s waiting to retry", format.Count(c.Ready), format.Count(c.Waiting)),
		Will:    format.Items(c.InFlight) + " in flight", Stays: format.Items(c.Done) + ". Cancelling does not undo them."}
	page.Type = page.Items > typeAbove
	want := page.Items
	if shown, err := strconv.ParseInt(v.FormValue("shown"), 10, 64); err == nil && shown > want {
		want = shown // items have ended since the page was shown
	}
	if n, err := strconv.ParseInt(strings.ReplaceAll(page.Typed, ",", ""), 10, 64); page.Typed != "" && (err != nil || n != want) {
		page.Fault = "The number of items is " + format.Count(page.Items) + "."
	}
	return content{Title: verb.Button + " " + b.Name + "?", Nav: "Bulk actions", Page: page}, nil
}

// act does what a button of a bulk action says, and goes back to its page.
func (d *Dashboard) act(w http.ResponseWriter, r *http.Request) {
	v, err := d.visit(r)
	verb := verbNamed(r.PathValue("verb"))
	if err == nil && verb == nil {
		err = fmt.Errorf("%w: no verb is called %q", errNotNow, r.PathValue("verb"))
	}
	if err != nil {
		d.fail(w, v, err)
		return
	}
	id := r.PathValue("id")
	if verb.Danger {
		c, err := d.confirm(r.Context(), v)
		if err != nil {
			d.fail(w, v, err)
			return
		}
		page := c.Page.(confirmPage)
		if page.Type && page.Typed == "" {
			page.Fault = "Type the number of items, " + format.Count(page.Items) + "."
		}
		if page.Fault != "" {
			c.Page = page
			d.render(w, v, "confirm", http.StatusUnprocessableEntity, c)
			return
		}
	}
	if err := verb.do(r.Context(), v.api, id, r.FormValue("reason")); err != nil {
		d.fail(w, v, err)
		return
	}
	http.Redirect(w, r, d.opts.Prefix+Root+"/bulk-actions/"+url.PathEscape(id)+"?did="+verb.Name, http.StatusSeeOther)
}
