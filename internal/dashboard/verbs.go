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
	Safe   bool // asks although it destroys nothing
	More   bool // is in the menu, not a button
	// fits says whether it fits a bulk action in one of the states. Default: it does.
	fits   func(*api.BulkAction) bool
	states []api.State
	// do returns what it made or changed.
	do func(context.Context, *client.Client, string, string) (api.BulkAction, error)
	// ask makes the question of a dangerous verb.
	ask func(*api.BulkAction, *api.Progress, *question)
	// leads are the states that it leads to. A form that is sent again in one of them is answered as the first time.
	leads []api.State
	// told says what the verb has done. It stays on the page while the state goes on: it tells what was done, and not
	// what is.
	told string
}

// bulkVerb makes a verb of a method of the client.
func bulkVerb(f func(*client.Client, context.Context, string, string) (api.BulkAction, error),
) func(context.Context, *client.Client, string, string) (api.BulkAction, error) {
	return func(ctx context.Context, c *client.Client, id, reason string) (api.BulkAction, error) {
		return f(c, ctx, id, reason)
	}
}

var ended = []api.State{api.Completed, api.Cancelled, api.Failed}

var verbs = []verb{
	{Name: "start", Button: "Start", Icon: "running", Scope: "submit", states: []api.State{api.Sealed}, leads: []api.State{api.Running, api.Awaiting, api.Completed}, told: "Started.",
		do: func(ctx context.Context, c *client.Client, id, reason string) (api.BulkAction, error) {
			return c.Start(ctx, id, api.Start{Reason: reason})
		}},
	{Name: "approve", Button: "Approve the rest", Icon: "approve", Scope: "approve", states: []api.State{api.Awaiting}, leads: []api.State{api.Running, api.Completed},
		do: bulkVerb((*client.Client).Approve), told: "The rest was approved."},
	{Name: "pause", Button: "Pause", Icon: "paused", Scope: "control", states: []api.State{api.Running}, leads: []api.State{api.Paused},
		do: bulkVerb((*client.Client).Pause), told: "Paused. Calls that were running end; nothing is lost."},
	{Name: "resume", Button: "Resume", Icon: "running", Scope: "control", states: []api.State{api.Paused, api.Stopped}, leads: []api.State{api.Running, api.Completed},
		do: bulkVerb((*client.Client).Resume), told: "Resumed."},
	{Name: "unschedule", Button: "Do not start by itself", Icon: "paused", Scope: "submit", states: []api.State{api.Scheduled}, leads: []api.State{api.Sealed},
		do: bulkVerb((*client.Client).Unschedule), told: "Its start time was removed. It starts when a person starts it."},
	{Name: "cancel", Button: "Cancel", Scope: "control", Danger: true, do: bulkVerb((*client.Client).Cancel), ask: askCancel,
		states: []api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled},
		leads:  []api.State{api.Cancelling, api.Cancelled}, told: "Cancelled. Calls that were running end."},
	{Name: runCancelled, Button: "Run cancelled items", Scope: "control", Danger: true, Safe: true, states: ended, ask: askRunCancelled, told: "The cancelled items run, as bulk actions of their own.",
		fits: func(b *api.BulkAction) bool { return b.UndoneBy == "" && b.Counts.Cancelled > 0 },
		do: func(ctx context.Context, c *client.Client, id, reason string) (b api.BulkAction, err error) {
			linked, err := c.Retry(ctx, id, api.Again{State: "cancelled", Reason: reason})
			if err == nil && len(linked.BulkActions) == 1 {
				b = linked.BulkActions[0]
			}
			return b, err
		}},
	{Name: "undo", Button: "Undo", Scope: "control", Danger: true, More: true, states: ended, ask: askUndo, told: "The undo was started, as a bulk action of its own.",
		// An undo of the first one undoes its retries, too.
		fits: func(b *api.BulkAction) bool {
			return b.UndoneBy == "" && b.UndoOf == "" && b.RetryOf == "" && b.Counts.Done > 0
		},
		do: func(ctx context.Context, c *client.Client, id, reason string) (b api.BulkAction, err error) {
			_, err = c.Undo(ctx, id, reason)
			return b, err
		}},
	{Name: "clone", Button: "Copy as a new draft", Scope: "submit", More: true, do: bulkVerb((*client.Client).Clone),
		fits:   func(b *api.BulkAction) bool { return b.UndoOf == "" },
		states: append([]api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled}, ended...),
		told:   "Copied into a new draft, without items."},
	{Name: "delete", Button: "Delete the draft", Scope: "submit", Danger: true, More: true, states: []api.State{api.Draft, api.Importing}, ask: askDelete,
		told: "The draft is deleted.",
		do: func(ctx context.Context, c *client.Client, id, _ string) (b api.BulkAction, err error) {
			return b, c.Delete(ctx, id)
		}},
}

// verbsOf returns what the person can do with a bulk action: by buttons, and in the menu.
func (v *visit) verbsOf(ctx context.Context, b *api.BulkAction, p *api.Progress) (buttons, more []verb, err error) {
	for _, x := range verbs {
		if !x.possible(b) || !v.may(x.Scope) {
			continue
		}
		lacking := ""
		if x.Name == "undo" {
			if lacking, err = v.withoutUndo(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		if x.Name == runCancelled {
			never, err := v.neverRun(ctx, b, p)
			if err != nil {
				return nil, nil, err
			}
			if never == 0 {
				continue
			}
			x.Button = "Run " + cancelledItems(never)
		}
		switch {
		case lacking != "":
		case x.More:
			more = append(more, x)
		default:
			buttons = append(buttons, x)
		}
	}
	return buttons, more, nil
}

// withoutUndo returns the first action that has done items and cannot be undone: the API refuses an undo then. Empty:
// all of them can.
func (v *visit) withoutUndo(ctx context.Context, p *api.Progress) (string, error) {
	for _, s := range p.Steps {
		if s.Done == s.Skipped {
			continue
		}
		a, err := v.api.Actions().Get(ctx, s.Action)
		if err != nil && !client.IsCode(err, "not_found") {
			return "", err
		}
		if !a.Undo {
			return s.Action, nil
		}
	}
	return "", nil
}

func (v *verb) possible(b *api.BulkAction) bool {
	return slices.Contains(v.states, b.State) && (v.fits == nil || v.fits(b))
}

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
	if verb := verbNamed(v.PathValue("verb")); verb == nil || !verb.Danger { // its button is on the page of the bulk action
		return content{}, &pageElsewhere{"/bulk-actions/" + escape(v.PathValue("id"))}
	}
	q, err := v.askVerb(ctx)
	if errors.Is(err, errNotNow) {
		q, err = v.tooLate(ctx, err)
	}
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
	if verb == nil || !verb.Danger || !verb.possible(&b) {
		return nil, fmt.Errorf("%w: %s is %s", errNotNow, b.Name, strings.ToLower(signOf(b.State).Word))
	}
	p, err := v.api.Progress(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	var report api.Report
	if verb.Name == "undo" {
		switch lacking, err := v.withoutUndo(ctx, &p); {
		case err != nil:
			return nil, err
		case lacking != "":
			return nil, fmt.Errorf("%w: the action %s has no undo", errNotNow, lacking)
		}
		if report, err = v.api.Report(ctx, b.ID); err != nil {
			return nil, err
		}
		b.Counts.Done = undoes(&report, &p)
	}
	if verb.Name == runCancelled {
		switch b.Counts.Cancelled, err = v.neverRun(ctx, &b, &p); {
		case err != nil:
			return nil, err
		case b.Counts.Cancelled == 0:
			return nil, fmt.Errorf("%w: no cancelled item of %s is left to run", errNotNow, b.Name)
		}
	}
	q := &question{Up: "/bulk-actions/" + escape(b.ID), UpName: b.Name, Scope: verb.Scope, Safe: verb.Safe, Title: verb.Button + " " + b.Name + "?", Stay: "Keep it"}
	if verb.Name == runCancelled {
		q.Hidden = append(q.Hidden, fact{"once", v.onceKey()})
	}
	if verb.Name == runCancelled {
		r, err := v.api.Report(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		if r.UnclearText != "" {
			q.Facts = append(q.Facts, fact{"No clear answer", r.UnclearText})
		}
	}
	verb.ask(&b, &p, q)
	if verb.Name == "cancel" {
		if err := v.staysUnclear(ctx, &b, q); err != nil {
			return nil, err
		}
	}
	if verb.Name == "undo" && report.UndoText != "" {
		q.Facts[1] = fact{"Stays as it is", format.Items(b.Counts.Total-q.Items) + " that no step is known to be done for"}
		q.Facts = append(q.Facts, fact{"No clear answer", report.UndoText})
	}
	if verb.Name == "cancel" && p.Cancel == nil { // it has ended since it was asked for
		return nil, fmt.Errorf("%w: %s is %s", errNotNow, b.Name, strings.ToLower(signOf(p.State).Word))
	}
	return q, nil
}

// undoes returns how many items an undo is about: those that passed the first step, here or in a retry, even if they
// failed at a later one.
func undoes(r *api.Report, p *api.Progress) int64 {
	if len(p.Steps) == 0 {
		return p.Counts.Done
	}
	passed := max(p.Counts.Done, p.Steps[0].Done)
	if r.Combined != nil {
		passed = max(passed, r.Combined.Done)
	}
	return passed
}

func askUndo(b *api.BulkAction, _ *api.Progress, q *question) {
	q.Items = b.Counts.Done
	q.Facts = []fact{{"Will be undone", format.Items(q.Items) + ", each by the undo of its action, in the opposite order of the steps"},
		{"Stays as it is", format.Items(b.Counts.Total-q.Items) + " that no step was done for"}}
	q.Text = "The undo runs as a bulk action of its own, which you can pause and cancel. An undo cannot be undone."
	q.Button, q.Stay = "Undo "+format.Items(q.Items), "Keep it as it is"
}

func askDelete(b *api.BulkAction, _ *api.Progress, q *question) {
	q.Items = b.Counts.Total
	q.Facts = []fact{{"Will be deleted", "The draft and its " + format.Items(q.Items)}, {"Was sent", "Nothing"}}
	q.Button, q.Stay = "Delete the draft with "+format.Items(q.Items), "Keep the draft"
}

// doneBefore answers a verb that was refused: if what it leads to is there already, the same form was sent before.
func (v *visit) doneBefore(ctx context.Context, verb *verb, id string, refused error) (done, error) {
	if !errors.Is(refused, errNotNow) && !client.IsCode(refused, "wrong_state") && !client.IsCode(refused, "already_ended") {
		return done{}, refused
	}
	b, err := v.api.Get(ctx, id)
	if err != nil || !slices.Contains(verb.leads, b.State) && !(verb.Name == "undo" && b.UndoneBy != "") && !(verb.Name == runCancelled && len(b.Retries) > 0) {
		return done{}, refused
	}
	return done{To: "/bulk-actions/" + escape(id), Note: note{Text: verb.told, Then: "It was done before; nothing is done twice."}}, nil
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
			return v.doneBefore(ctx, verb, id, err)
		}
	}
	reason := strings.TrimSpace(v.FormValue("reason"))
	made, err := verb.do(v.once(ctx), v.api, id, reason)
	if err != nil {
		return v.doneBefore(ctx, verb, id, err)
	}
	command := "weir " + verb.Name + " " + id
	switch verb.Name { // these have no command of their own
	case "unschedule":
		command = "weir api POST /v1/bulk-actions/" + id + "/unschedule"
	case "delete":
		command = "weir api DELETE /v1/bulk-actions/" + id
	case runCancelled:
		command = "weir retry " + id + " --state cancelled"
	}
	if reason != "" && verb.Name != "unschedule" {
		command += " --reason " + quoted(reason)
	}
	to, then, told := "/bulk-actions/"+escape(id), "", verb.told
	if made.Pending != "" {
		told, then = "It is stored, but not carried out yet.", "That happens when a node has taken over the bulk action."
	}
	switch verb.Name {
	case "delete":
		to = "/bulk-actions"
	case "clone":
		to = "/new/" + escape(made.ID)
		if b, err := v.api.Get(ctx, id); err == nil && b.CreatedWith != nil {
			then = "Its rules were changed after it was created. The copy has those that it was created with."
		}
	case runCancelled:
		if made.ID != "" {
			to = "/bulk-actions/" + escape(made.ID)
		}
	}
	return done{To: to, Note: note{Text: told, Then: then, Weir: []string{command}}}, nil
}
