package dashboard

import (
	"context"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// failedPage answers: what kinds of failures are there, and can I try again, or give up, safely?
type failedPage struct {
	Sum       string
	Total     int64  // of all groups that the filter lets through, also those that are not shown
	Cut       string // says that not all groups are shown
	Filter    failedFilter
	Groups    []failedGroup
	Selected  *failedGroup
	Samples   []api.ItemResult
	Download  template.URL // the query of a download of all that is shown
	Actions   []string
	Codes     []string
	Periods   []period
	Retry     retryForm
	Filtering bool
}

// failedFilter is the state of the page, as its address has it.
type failedFilter struct{ Tenant, Action, Code, BulkAction, Since, Message, Group string }

type failedGroup struct {
	api.DLQGroup
	Key     string // names the group in addresses, which must not contain messages
	Current bool
	Link    template.URL // the query that selects the group
	Hidden  []fact
}

// period is a choice of how far to look back.
type period struct {
	Value, Name string
	Current     bool
	back        time.Duration
}

type retryForm struct {
	Rate, Reason           string
	NewKeys                bool
	RateFault, ReasonFault string
	Faults                 []string
}

func (d *Dashboard) failedPages() {
	d.page("/failed", "failed", func(ctx context.Context, v *visit) (content, error) {
		return d.failed(ctx, v, retryForm{})
	})
	d.form("/failed/retry", d.retryFailed)
	d.page("/failed/retry-all", "confirm", func(ctx context.Context, v *visit) (content, error) {
		q, err := v.askRetryAll(ctx)
		if err != nil {
			return content{}, err
		}
		return v.ask(q, "Failed items"), nil
	})
	d.form("/failed/retry-all", d.retryAllFailed)
	d.page("/failed/discard", "confirm", func(ctx context.Context, v *visit) (content, error) {
		q, _, err := v.askDiscard(ctx)
		if err != nil {
			return content{}, err
		}
		return v.ask(q, "Failed items"), nil
	})
	d.form("/failed/discard", d.discardFailed)
	d.download("/failed/failed-items.csv", func(ctx context.Context, v *visit) (file, error) {
		f := filterOf(v)
		of := f.api(v.clock.Now)
		if f.Group != "" {
			g, err := v.failedGroup(ctx, f)
			if err != nil {
				return file{}, err
			}
			of = g.filter(of)
		}
		body, err := v.api.DLQResults(ctx, of, "csv")
		return file{Name: "failed-items.csv", Body: body}, err
	})
}

var periods = []period{{Name: "Any time"}, {Value: "24h", Name: "Last 24 hours", back: 24 * time.Hour},
	{Value: "7d", Name: "Last 7 days", back: 7 * 24 * time.Hour}, {Value: "30d", Name: "Last 30 days", back: 30 * 24 * time.Hour}}

// filterOf reads the state of the page from an address, or from the fields that a form sends along.
func filterOf(v *visit) failedFilter {
	get := func(name string) string { return strings.TrimSpace(v.FormValue(name)) }
	return failedFilter{get("tenant"), get("action"), get("code"), get("bulk_action"), get("since"), get("message"), get("group")}
}

// fields returns the filter as the fields of an address or a form; group is the one that is selected.
func (f failedFilter) fields(group string) (list []fact) {
	for _, x := range []fact{{"tenant", f.Tenant}, {"action", f.Action}, {"code", f.Code}, {"bulk_action", f.BulkAction},
		{"since", f.Since}, {"message", f.Message}, {"group", group}} {
		if x.Value != "" {
			list = append(list, x)
		}
	}
	return list
}

// query writes fields as the query of an address.
func query(fields []fact) template.URL {
	q := url.Values{}
	for _, x := range fields {
		q.Set(x.Name, x.Value)
	}
	return template.URL(q.Encode()) //nolint:gosec // encoded
}

// api returns the filter as the API takes it. A part of a message is compared by the page: the API wants all of it.
func (f failedFilter) api(now time.Time) api.DLQFilter {
	out := api.DLQFilter{Tenant: f.Tenant, Action: f.Action, Code: f.Code, BulkAction: f.BulkAction}
	for _, p := range periods {
		if p.Value == f.Since && p.back > 0 {
			out.Since = now.Add(-p.back).Truncate(time.Minute)
		}
	}
	return out
}

// filter narrows a filter to the group.
func (g *failedGroup) filter(f api.DLQFilter) api.DLQFilter {
	f.Tenant, f.Action, f.Step, f.Code, f.Message = g.Tenant, g.Action, g.Step, g.Code, g.Message
	return f
}

const (
	// mostGroups is how many groups a page lists: the largest.
	mostGroups = 200
	// mostSearched is how many groups a part of a message is looked for in: the most that the API lists.
	mostSearched = 10_000
)

// groupSums counts all groups that a filter lets through, and their items.
type groupSums struct {
	Groups int
	Items  int64
}

// failedGroups lists the largest groups that a filter lets through, the largest first, and sums up all of them.
func (v *visit) failedGroups(ctx context.Context, f failedFilter) (list []failedGroup, all groupSums, err error) {
	most := mostGroups
	if f.Message != "" {
		most = mostSearched
	}
	groups, err := v.api.DLQGroups(ctx, f.api(v.clock.Now), most)
	if err != nil {
		return nil, all, err
	}
	if f.Message == "" {
		all = groupSums{groups.Groups, groups.Items}
	}
	for _, g := range groups.Data {
		if !strings.Contains(strings.ToLower(g.Message), strings.ToLower(f.Message)) {
			continue
		}
		if f.Message != "" {
			all.Groups++
			all.Items += g.Count
		}
		if len(list) == mostGroups {
			continue
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%q", []string{g.Tenant, g.Action, g.Step, g.Code, g.Message})
		key := strconv.FormatUint(h.Sum64(), 36)
		list = append(list, failedGroup{DLQGroup: g, Key: key, Link: query(f.fields(key)), Hidden: f.fields(key)})
	}
	return list, all, nil
}

// failedGroup returns the group that is selected.
func (v *visit) failedGroup(ctx context.Context, f failedFilter) (*failedGroup, error) {
	list, _, err := v.failedGroups(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Key == f.Group {
			return &list[i], nil
		}
	}
	return nil, fmt.Errorf("%w: the items of this group have been retried or discarded since", errNotNow)
}

// mostSamples is how many items of a group a page shows.
const mostSamples = 3

func (d *Dashboard) failed(ctx context.Context, v *visit, form retryForm) (content, error) {
	f := filterOf(v)
	page := failedPage{Filter: f, Retry: form, Filtering: len(f.fields("")) > 0, Periods: slices.Clone(periods), Download: query(f.fields(""))}
	for i := range page.Periods {
		page.Periods[i].Current = page.Periods[i].Value == f.Since
	}
	all, sums, err := v.failedGroups(ctx, failedFilter{})
	if err != nil {
		return content{}, err
	}
	for i := range all {
		page.Actions, page.Codes = append(page.Actions, all[i].Action), append(page.Codes, all[i].Code)
	}
	page.Actions, page.Codes = sorted(append(page.Actions, f.Action)), sorted(append(page.Codes, f.Code))
	if page.Groups = all; page.Filtering {
		page.Groups, sums, err = v.failedGroups(ctx, f)
	}
	page.Total = sums.Items
	page.Sum = fmt.Sprintf("%s in %s", format.Items(sums.Items), format.Plural(int64(sums.Groups), "group", "groups"))
	if sums.Groups > mostGroups {
		page.Cut = fmt.Sprintf("These are the %d largest of %s groups.", mostGroups, format.Count(int64(sums.Groups)))
	}
	if err == nil {
		err = page.choose(ctx, v, f)
	}
	return content{Title: "Failed items", Nav: "Failed items", Page: &page, Weir: []string{"weir dlq groups", "weir dlq list", "weir dlq retry --help"}}, err
}

// sorted returns the different texts of a list, without empty ones.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
}

// choose selects a group, the largest unless the address names another.
func (page *failedPage) choose(ctx context.Context, v *visit, f failedFilter) (err error) {
	for i := range page.Groups {
		g := &page.Groups[i]
		if g.Key == f.Group {
			page.Selected = g
		}
	}
	if page.Selected == nil && len(page.Groups) > 0 && f.Group == "" {
		page.Selected = &page.Groups[0]
	}
	if page.Selected != nil {
		page.Selected.Current = true
		page.Samples, err = collect(v.api.DLQ(ctx, page.Selected.filter(f.api(v.clock.Now))), mostSamples)
	}
	return err
}

// retryFailed tries the items of a group again.
func (d *Dashboard) retryFailed(ctx context.Context, v *visit) (done, error) {
	form := retryForm{Rate: strings.TrimSpace(v.FormValue("rate")), Reason: strings.TrimSpace(v.FormValue("reason")),
		NewKeys: v.FormValue("new_keys") != ""}
	f := filterOf(v)
	g, err := v.failedGroup(ctx, f)
	if err != nil {
		return done{}, err
	}
	ask := api.DLQRetry{Filter: g.filter(f.api(v.clock.Now)), NewKeys: form.NewKeys, Reason: form.Reason}
	if form.Rate != "" {
		if err := readRate(form.Rate, &ask.Rate); err != nil {
			form.RateFault = err.Error()
		}
	}
	if shown, err := strconv.ParseInt(v.FormValue("shown"), 10, 64); err == nil && shown < g.Count {
		form.Faults = []string{fmt.Sprintf("%s have failed like this by now; the page had shown %s. Look at it again.", format.Items(g.Count), format.Count(shown))}
	}
	var made api.Linked
	if form.RateFault == "" && form.Faults == nil {
		made, err = v.api.DLQRetry(v.once(ctx), ask)
		form.refused(err)
	}
	if form.RateFault != "" || form.ReasonFault != "" || form.Faults != nil {
		c, err := d.failed(ctx, v, form)
		if err != nil {
			return done{}, err
		}
		return done{}, &pageAgain{"failed", c}
	}
	if err != nil {
		return done{}, err
	}
	return retriedFailed(&made), nil
}

// retriedFailed says what a retry of failed items has made.
func retriedFailed(made *api.Linked) done {
	n := note{Text: fmt.Sprintf("%s retried, in %s.", format.Items(made.Items), format.Plural(int64(len(made.BulkActions)),
		"new bulk action", "new bulk actions")), Then: "Items that fail again come back to Failed items."}
	if made.Skipped > 0 {
		n.Then += fmt.Sprintf(" %s left: their bulk actions still run.", format.Items(made.Skipped))
	}
	to := "/failed"
	if len(made.BulkActions) == 1 {
		to = "/bulk-actions/" + escape(made.BulkActions[0].ID)
	}
	return done{To: to, Note: n}
}

// askRetryAll makes the question before the items of all groups that the filter lets through are retried.
func (v *visit) askRetryAll(ctx context.Context) (*question, error) {
	f := filterOf(v)
	if f.Message != "" {
		return nil, fmt.Errorf("%w: with a part of a message, groups are retried one by one", errNotNow)
	}
	all, err := v.api.DLQGroups(ctx, f.api(v.clock.Now), 0) // it only counts
	if err != nil {
		return nil, err
	}
	if all.Items == 0 {
		return nil, fmt.Errorf("%w: all of these items have been retried or discarded", errNotNow)
	}
	back, which := f.fields(""), "All failed items"
	if len(back) > 0 {
		var said []string
		for _, x := range back {
			said = append(said, strings.ReplaceAll(x.Name, "_", " ")+" "+x.Value)
		}
		which = "Failed items with " + strings.Join(said, ", ")
	}
	return &question{
		Title: fmt.Sprintf("Retry all %s?", failedItems(all.Items)), Up: "/failed?" + string(query(back)), UpName: "Failed items", Items: all.Items,
		Facts: []fact{
			{"Which", which},
			{"Will run again", fmt.Sprintf("%s in %s, each from the step at which it failed", format.Items(all.Items), format.Plural(int64(all.Groups), "group", "groups"))},
			{"As", "New bulk actions, linked to the first ones"},
			{"Left out", "Items of bulk actions that still run"},
		},
		Text:   "Items keep their idempotency keys, and those that fail again come back to Failed items. To limit the speed, retry group by group with a rate.",
		Hidden: append(back, fact{"once", v.onceKey()}), Button: "Retry all " + failedItems(all.Items), Stay: "Leave them here", Safe: true, Scope: "control",
	}, nil
}

func failedItems(n int64) string { return format.Plural(n, "failed item", "failed items") }

// retryAllFailed tries the items of all groups that the filter lets through again.
func (d *Dashboard) retryAllFailed(ctx context.Context, v *visit) (done, error) {
	q, err := v.askRetryAll(ctx)
	if err == nil {
		err = v.answered(q, "Failed items")
	}
	if err != nil {
		return done{}, err
	}
	made, err := v.api.DLQRetry(v.once(ctx), api.DLQRetry{Filter: filterOf(v).api(v.clock.Now), All: true, Reason: strings.TrimSpace(v.FormValue("reason"))})
	if err != nil {
		return done{}, err
	}
	return retriedFailed(&made), nil
}

// readRate reads a rate; a bare number is items per second.
func readRate(text string, into *api.Rate) error {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "/s"
	}
	return into.UnmarshalText([]byte(text))
}

// refused puts what the API refuses to the fields of the form.
func (form *retryForm) refused(err error) {
	p := refusal(err)
	if p == nil || p.Status != 422 && p.Status != 400 && p.Status != 409 {
		return
	}
	for _, x := range p.Errors {
		switch x.Field {
		case "rate":
			form.RateFault = faultText(x)
		case "reason":
			form.ReasonFault = faultText(x)
		default:
			form.Faults = append(form.Faults, faultText(x))
		}
	}
	if len(p.Errors) == 0 {
		form.Faults = append(form.Faults, p.Error())
	}
}

// askDiscard makes the question before the items of a group are given up.
func (v *visit) askDiscard(ctx context.Context) (*question, api.DLQFilter, error) {
	f := filterOf(v)
	g, err := v.failedGroup(ctx, f)
	if err != nil {
		return nil, api.DLQFilter{}, err
	}
	back := f.fields(g.Key)
	return &question{
		Title: fmt.Sprintf("Discard %s?", format.Items(g.Count)), Up: "/failed?" + string(query(back)), UpName: "Failed items", Items: g.Count,
		Facts: []fact{
			{"Will not run again", fmt.Sprintf("%s of %s, %s: %s", format.Items(g.Count), g.Action, g.Code, g.Message)},
			{"Stays", "what is in the reports of " + format.Plural(int64(g.BulkActions), "bulk action", "bulk actions")},
		},
		Text:   "Discarded items leave this list for good. To keep them for later, leave them here: they are not lost, and they cost nothing.",
		Hidden: back, Button: "Discard " + format.Items(g.Count), Stay: "Keep them", Needed: true, Scope: "control",
	}, g.filter(f.api(v.clock.Now)), nil
}

func (d *Dashboard) discardFailed(ctx context.Context, v *visit) (done, error) {
	q, of, err := v.askDiscard(ctx)
	if err == nil {
		err = v.answered(q, "Failed items")
	}
	if err != nil {
		return done{}, err
	}
	gone, err := v.api.DLQDiscard(ctx, api.DLQDiscard{Filter: of, Reason: strings.TrimSpace(v.FormValue("reason"))})
	return done{To: "/failed", Note: note{Text: format.Items(gone.Items) + " discarded."}}, err
}
