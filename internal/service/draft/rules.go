package draft

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/schedule"
	"github.com/weirhq/weir/internal/service/stored"
)

// rules checks requests, and opens the sources that they name.
type rules struct {
	*files
	life        context.Context // see New
	guard       *egress.Guard   // of the URLs of callbacks
	chains      *chain.Chains
	connections *registry.Connections
}

// checkDraft collects everything that is wrong with a request of an API key.
func (s *rules) checkDraft(d *Draft, by string, now time.Time) error {
	n := &d.Spec
	var bad weir.InputError
	check.Text(&bad, "name", n.Name)
	check.Text(&bad, "tenant", d.Tenant)
	check.Labels(&bad, n.Labels)
	check.Params(&bad, n.Params)
	if len(n.ItemID) > mapping.MaxName {
		bad.Add("bad_text", "item_id", fmt.Sprintf("has %d bytes, more than %d", len(n.ItemID), mapping.MaxName), "shorten it")
	}
	s.chains.Check(d.Tenant, n.Steps, n.Params, &bad)
	checkRenamed(&bad, n.Columns)
	if n.StartAt != "" {
		at, note, err := schedule.ParseStart("start_at", n.StartAt, n.Zone, now)
		if err != nil {
			check.Add(&bad, err, "bad_time", "start_at")
		}
		d.StartAt, d.Note = at.UTC(), note
	}
	if n.Start && n.StartAt != "" {
		bad.Add("bad_value", "start_at", "cannot be combined with start", "keep one of start and start_at")
	}
	if len(n.Items) > 0 && n.Source != nil {
		bad.Add("bad_request", "source", "cannot be combined with items", "leave one of them out")
	}
	if n.Source != nil {
		if err := s.checkSource(n, d.Tenant, by); err != nil {
			check.Add(&bad, err, "bad_source", "source")
		}
	}
	if n.Callback != nil {
		s.checkCallback(&bad, n.Callback)
	}
	if n.KeepFor != 0 && (time.Duration(n.KeepFor) < time.Minute || time.Duration(n.KeepFor) > 10*365*24*time.Hour) {
		bad.Add("out_of_range", "keep_for", fmt.Sprintf("%v is not between 1m and 10 years", n.KeepFor),
			"leave it out for the server's default")
	}
	if !n.Deadline.IsZero() && !d.StartAt.IsZero() && !n.Deadline.After(d.StartAt) {
		bad.Add("out_of_range", "deadline", "is not after start_at", "choose a later deadline")
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return s.checkByEngine(d)
}

// mostNames bounds the columns that a request names.
const mostNames = 200

// checkRenamed refuses names of columns that no data can have.
func checkRenamed(bad *weir.InputError, columns map[string]string) {
	if len(columns) > mostNames {
		bad.Add("out_of_range", "columns", fmt.Sprintf("has %d names", len(columns)), fmt.Sprintf("%d are the most", mostNames))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		for _, text := range []string{name, columns[name]} {
			if text == "" || len(text) > mapping.MaxName || !utf8.ValidString(text) {
				bad.Add("bad_value", fmt.Sprintf("columns.%.64s", name), fmt.Sprintf("%.64q is not the name of a column", text),
					fmt.Sprintf("use 1 to %d bytes of UTF-8", mapping.MaxName))
				break
			}
		}
	}
}

// lookUpFor bounds a name lookup while a client waits.
const lookUpFor = 2 * time.Second

// checkNames refuses a callback whose host name resolves to a forbidden address. Each connect
// checks again, because names may resolve differently later.
func (s *rules) checkNames(ctx context.Context, c *stored.Callback) error {
	if c == nil {
		return nil
	}
	u, err := s.guard.CheckURL("callback.url", c.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	return s.guard.CheckName(ctx, "callback.url", u)
}

// checkByEngine lets the engine check what the draft will submit to it.
func (s *rules) checkByEngine(d *Draft) error {
	def, spec, err := specOf(d)
	if err != nil {
		return err
	}
	return s.engine.CheckSpec(def, spec)
}

// CheckNew collects everything that is wrong with a bulk action that a schedule or a template
// creates for a tenant again and again.
func (s *rules) CheckNew(n stored.Spec, tenant string) error {
	var bad weir.InputError
	if n.Source != nil && n.Source.Upload != "" {
		bad.Add("bad_value", "source.upload", "can be read only once: its data is removed afterwards",
			"name the upload in each request, or use a source that can be read again")
		n.Source = nil
	}
	if err := s.checkDraft(&Draft{Spec: n, Tenant: tenant}, "", time.Now().UTC()); err != nil && !check.AddUnder(&bad, "", err) {
		return err
	}
	return bad.OrNil()
}

// callbackEvents lists the events of a one-off callback, with or without the prefix
// "bulk_action.".
var callbackEvents = []string{"completed", "cancelled", "stopped", "failed", "canary_ready", "late"}

// checkCallback checks the one-off callback of a bulk action.
func (s *rules) checkCallback(bad *weir.InputError, c *stored.Callback) {
	if _, err := s.guard.CheckURL("callback.url", c.URL); err != nil {
		check.Add(bad, err, "bad_url", "callback.url")
	}
	if c.Secret != "" {
		if _, err := execute.NewSigner(c.Secret); err != nil {
			bad.Add("bad_secret", "callback.secret", "is not a valid signing secret", "write whsec_ and the base64 of 24 to 64 random bytes")
		}
	}
	for i, e := range c.Events {
		if !slices.Contains(callbackEvents, strings.TrimPrefix(e, "bulk_action.")) {
			bad.Add("bad_value", fmt.Sprintf("callback.events[%d]", i), fmt.Sprintf("%.40q is not an event", e),
				"use "+strings.Join(callbackEvents, ", "))
		}
	}
}

// checkSource checks a source without connecting to it.
func (s *rules) checkSource(n *stored.Spec, tenant, by string) error {
	if n.Source.Upload != "" {
		ctx, cancel := context.WithTimeout(s.life, 5*time.Second)
		defer cancel()
		for i, file := range n.Source.Uploads() {
			if slices.Contains(n.Source.Uploads()[:i], file) {
				return &weir.FieldError{Code: "bad_value", Field: uploadField(i + 1), Problem: fmt.Sprintf("names the upload %s a second time", file), Fix: "leave it out"}
			}
			if err := s.checkUpload(ctx, uploadField(i+1), file, tenant, by); err != nil {
				return err
			}
		}
		return nil
	}
	if len(n.Source.Added) > 0 {
		return &weir.FieldError{Code: "bad_value", Field: "source.added", Problem: "needs an upload to be added to", Fix: "name the first one in source.upload"}
	}
	return s.connections.Check(n, tenant)
}

// Peek opens the source of a draft to show its first items. Rows that are none do not end it, whatever the draft does with them.
func (s *rules) Peek(d *Draft) (feed.Feed, error) {
	all := *d
	all.Spec.OnBadLine = "record"
	return s.Open(&all)
}

// Open opens the source of a draft. Its items have the ids of the draft, and members with the names that the steps know.
func (s *rules) Open(d *Draft) (feed.Feed, error) {
	f, err := s.openRaw(d)
	if err != nil {
		return nil, err
	}
	return &reading{f, howTo(s.chains, d)}, nil
}

// openRaw opens the source of a draft. Members of its items have the names of the data.
func (s *rules) openRaw(d *Draft) (feed.Feed, error) {
	if d.Spec.Source.Upload != "" {
		how := howTo(s.chains, d)
		return &uploadFeed{all: s.uploads, how: &how, of: d.Spec.Source}, nil
	}
	return s.connections.Open(&d.Spec, d.Tenant)
}
