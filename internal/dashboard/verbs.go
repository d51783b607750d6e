package dashboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// verb is something that a person can do with a bulk action.
type verb struct {
	Name   string // in the address, and the command of weir
	Button string
	Icon   string
	Scope  string
	Danger bool // asks on a page of its own
	states []api.State
	do     func(context.Context, *client.Client, string, string) error
	// told says what the verb has done.
	told string
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
	{Name: "start", Button: "Start", Icon: "running", Scope: "submit", states: []api.State{api.Sealed}, told: "It starts now.",
		do: func(ctx context.Context, c *client.Client, id, reason string) error {
			_, err := c.Start(ctx, id, api.Start{Reason: reason})
			return err
		}},
	{Name: "approve", Button: "Approve the rest", Icon: "approve", Scope: "approve", states: []api.State{api.Awaiting},
		do: bulkVerb((*client.Client).Approve), told: "The rest is approved, and runs."},
	{Name: "pause", Button: "Pause", Icon: "paused", Scope: "control", states: []api.State{api.Running},
		do: bulkVerb((*client.Client).Pause), told: "It is paused. Calls that were running end; nothing is lost. Resume it at any time."},
	{Name: "resume", Button: "Resume", Icon: "running", Scope: "control", states: []api.State{api.Paused, api.Stopped},
		do: bulkVerb((*client.Client).Resume), told: "It runs again."},
	{Name: "cancel", Button: "Cancel", Scope: "control", Danger: true, do: bulkVerb((*client.Client).Cancel),
		states: []api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled},
		told:   "It is being cancelled. Calls that were running end."},
}

// verbsOf returns what can be done in a state.
func verbsOf(s api.State) (list []verb) {
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

// confirmVerb shows what a dangerous verb would do.
func (d *Dashboard) confirmVerb(ctx context.Context, v *visit) (content, error) {
	q, err := v.askVerb(ctx)
	if err != nil {
		return content{}, err
	}
	return v.ask(q, "Bulk actions"), nil
}

// askVerb makes the question of a dangerous verb.
func (v *visit) askVerb(ctx context.Context) (*question, error) {
	verb := verbNamed(v.PathValue("verb"))
	b, err := v.api.Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if verb == nil || !verb.Danger || !verb.possible(b.State) {
		return nil, fmt.Errorf("%w: %s is %s", errNotNow, b.Name, strings.ToLower(signOf(b.State).Word))
	}
	c := b.Counts
	left := c.Ready + c.Waiting
	return &question{
		Title: verb.Button + " " + b.Name + "?", Up: "/bulk-actions/" + escape(b.ID), UpName: b.Name, Items: left, Scope: verb.Scope,
		Facts: []fact{
			{"Will not run", fmt.Sprintf("%s: %s ready and %s waiting to retry", format.Items(left), format.Count(c.Ready), format.Count(c.Waiting))},
			{"Will finish", format.Items(c.InFlight) + " in flight"},
			{"Stays done", format.Items(c.Done) + ". Cancelling does not undo them."},
		},
		Text:   "A cancelled bulk action cannot be resumed. To stop now and continue later, pause it.",
		Button: verb.Button + " " + format.Items(left), Stay: "Keep it running",
	}, nil
}

// act does what a button of a bulk action says.
func (d *Dashboard) act(ctx context.Context, v *visit) (done, error) {
	verb, id := verbNamed(v.PathValue("verb")), v.PathValue("id")
	if verb == nil {
		return done{}, fmt.Errorf("%w: no verb is called %q", errNotNow, v.PathValue("verb"))
	}
	if verb.Danger {
		q, err := v.askVerb(ctx)
		if err == nil {
			err = v.answered(q, "Bulk actions")
		}
		if err != nil {
			return done{}, err
		}
	}
	reason := strings.TrimSpace(v.FormValue("reason"))
	if err := verb.do(ctx, v.api, id, reason); err != nil {
		return done{}, err
	}
	command := "weir " + verb.Name + " " + id
	if reason != "" {
		command += " --reason " + quoted(reason)
	}
	return done{To: "/bulk-actions/" + escape(id), Note: note{Text: verb.told, Weir: []string{command}}}, nil
}
