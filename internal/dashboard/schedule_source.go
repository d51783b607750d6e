package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// likePrefix begins the value of a choice that is a bulk action, and not a template.
const likePrefix = "like:"

// whatInputs let a person choose what a schedule makes: a template with its parameters, or the same as a bulk action.
// defined says that a whole definition is written besides.
func (v *visit) whatInputs(ctx context.Context, s *api.Schedule, defined bool) ([]*input, error) {
	templates, err := collect(v.api.Templates().List(ctx), mostSchedules)
	if err != nil {
		return nil, err
	}
	bulks, err := v.recent(ctx)
	if err != nil {
		return nil, err
	}
	now := s.BulkAction.Template
	if like := v.URL.Query().Get("like"); like != "" {
		now = likePrefix + like
	}
	chosen := now
	if v.Method == http.MethodPost {
		chosen = v.PostFormValue("bulk_action.template")
	}
	from := []option{{"", "Choose…"}}
	if defined || v.Method == http.MethodPost && v.PostFormValue("bulk_action") != "" {
		from[0].Name = "What the whole definition says, below"
	}
	for _, t := range templates {
		from = append(from, option{t.Name, "Template: " + cmp.Or(t.Title, t.Name)})
	}
	for _, b := range bulks {
		from = append(from, option{likePrefix + b.Value, "The same as " + b.Name})
	}
	list := []*input{{Name: "bulk_action.template", Label: "Template or bulk action", Kind: "select", Options: from, Value: now,
		Hint: "A template, or a bulk action that you have made before."}}
	if chosen != "" && !slices.ContainsFunc(from, func(o option) bool { return o.Value == chosen }) {
		list[0].Options = append(list[0].Options, option{chosen, chosen})
	}
	i := slices.IndexFunc(templates, func(t api.Template) bool { return t.Name == chosen })
	if i < 0 {
		return list, nil
	}
	given := s.BulkAction.Params
	if chosen != s.BulkAction.Template {
		given = nil
	}
	for _, f := range fieldsOf(&templates[i], given, nil) {
		list = append(list, f.input(chosen != now))
	}
	return list, nil
}

// paramsOf begins the names of the inputs of parameters.
const paramsOf = "bulk_action.params."

// input makes an input of a parameter. It is fresh if the template was chosen just now.
func (f *paramField) input(fresh bool) *input {
	i := &input{Name: paramsOf + f.Name, Half: true, Label: f.Label, Kind: f.Input, Value: f.Text, Hint: f.Hint, Needed: f.Required, param: f, fresh: fresh}
	if len(f.Options) > 0 {
		i.Kind = "select"
		for _, o := range f.Options {
			i.Options = append(i.Options, option{o.Value, o.Name})
		}
	}
	return i
}

// params reads the parameters of a template.
func (s *sheet) params() json.RawMessage {
	var fields []paramField
	for _, i := range s.Inputs {
		if i.param != nil {
			f := *i.param
			f.Text = i.Value
			fields = append(fields, f)
		}
	}
	return valuesOf(fields)
}

const sourceAt = "bulk_action.source"

// sourceInputs let a person say where the items come from at each time.
func (v *visit) sourceInputs(ctx context.Context, now *api.Source) ([]*input, error) {
	all, err := collect(v.api.Connections().List(ctx), mostSettings)
	if err != nil {
		return nil, err
	}
	f := sourceOf(now)
	where := []option{{"", "None: what it makes names a source, or a URL is below"}}
	kindOf, kinds := map[string]string{"": "http"}, map[string]bool{}
	for _, c := range all {
		where = append(where, option{c.Name, c.Name + ", " + nameOf(connectionKinds, c.Kind)})
		kindOf[c.Name] = c.Kind
		kinds[c.Kind] = true
	}
	list := []*input{{Name: sourceAt, Group: "Where its items come from", Label: "Connection", Kind: "select", Options: where, Kinds: kindOf, Value: f.Connection,
		Hint: "The items are read anew at each time: from a database, an object store, Kafka or a segment. An uploaded file cannot be used, because it is removed once it was read: " +
			"put the file into an object store, under the same name each time."}}
	add := func(kind string, more ...*input) {
		if kinds[kind] {
			for _, i := range more {
				i.From = kind
			}
			list = append(list, more...)
		}
	}
	add("postgres", &input{Name: sourceAt + ".postgres.query", Label: "PostgreSQL: query", Kind: "area", Value: f.Query, Place: "SELECT id, amount FROM users"},
		&input{Name: sourceAt + ".postgres.key", Half: true, Label: "PostgreSQL: unique column to read by", Value: f.keyOf(now), Place: "id"})
	add("s3", &input{Name: sourceAt + ".object.bucket", Half: true, Label: "Object store: bucket", Value: f.Bucket},
		&input{Name: sourceAt + ".object.key", Half: true, Label: "Object store: object", Value: f.Object, Place: "exports/users.csv"})
	add("kafka", &input{Name: sourceAt + ".kafka.topic", Half: true, Label: "Kafka: topic", Value: f.Topic})
	return append(list, &input{Name: sourceAt + ".segment.url", From: "http", Label: "URL of a segment", Kind: "url", Value: f.URL, Place: "https://crm.example.com/segments/7",
		Hint: "A list that a service of yours serves page by page. It needs no connection, unless it asks for a password."}), nil
}

// keyOf returns the column of a query.
func (f *sourceForm) keyOf(now *api.Source) string {
	if now == nil || now.Postgres == nil {
		return ""
	}
	return f.Key
}

// plainSource reports whether the fields of a form can say all of a source.
func plainSource(s *api.Source, kind string) bool {
	f := sourceOf(s)
	same, bad := f.source(kind)
	if s == nil || bad != nil {
		return false
	}
	a, _ := json.Marshal(s)    // texts alone
	b, _ := json.Marshal(same) // texts alone
	return string(a) == string(b)
}

// source reads where the items come from, nil if the form says nothing of it.
func (s *sheet) source(ctx context.Context, v *visit) (*api.Source, error) {
	value := func(name string) string { return s.at(sourceAt + "." + name).Value }
	f := sourceForm{Connection: s.at(sourceAt).Value, Query: value("postgres.query"), Key: value("postgres.key"), Bucket: value("object.bucket"),
		Object: value("object.key"), Topic: value("kafka.topic"), URL: value("segment.url")}
	if f == (sourceForm{}) {
		return nil, nil
	}
	kind := ""
	if f.Connection != "" {
		c, err := v.api.Connections().Get(ctx, f.Connection)
		if err != nil {
			return nil, err
		}
		kind = c.Kind
	}
	src, bad := f.source(kind)
	if bad != nil {
		s.at(sourceAt).Fault = bad.text
	}
	return src, nil
}

// mostTried is how many rows of a source are shown.
const mostTried = 5

// trySource shows what the source of a schedule begins with, or what is wrong with it. A draft reads it, which is deleted then.
func (s *sheet) trySource(ctx context.Context, v *visit, x *api.Schedule) error {
	if s.at(sourceAt).Fault != "" {
		return s.again(v)
	}
	n := x.BulkAction
	n.Tenant, n.Start = x.Tenant, false
	n.Name = cmp.Or(n.Name, "Try of a source")
	draft, err := v.api.Create(ctx, n)
	if p := refusal(err); p != nil { // the form names the fields as a schedule does
		for i := range p.Errors {
			p.Errors[i].Field = "bulk_action." + p.Errors[i].Field
		}
	}
	if err != nil {
		return err
	}
	defer v.api.Delete(context.WithoutCancel(ctx), draft.ID) //nolint:errcheck // it is removed after a week otherwise
	if draft.Source == nil {
		s.ToldOf = "What it makes has its items with it, and reads no source."
		return s.again(v)
	}
	rows, err := v.api.Preview(ctx, draft.ID, mostTried)
	if p := refusal(err); p != nil {
		s.at(sourceAt).add(inSentences(p.Detail, p.Fix))
		return s.again(v)
	}
	if err != nil {
		return err
	}
	for _, f := range rows.Faults {
		at := sourceAt
		if f.Field == "source.segment.url" {
			at = "bulk_action." + f.Field
		}
		s.at(at).add(inSentences(f.Message, f.Fix))
	}
	s.ToldOf = "Nothing is saved or sent. The source begins with:"
	if len(rows.Items) == 0 && len(rows.Faults) == 0 {
		s.ToldOf = "Nothing is saved or sent. The source has no rows now."
	} else if len(rows.Items) == 0 {
		s.ToldOf = "Nothing is saved or sent. The source cannot be read."
	}
	if len(rows.Items) > 0 && !slices.ContainsFunc(rows.Items, func(it api.PreviewItem) bool { return it.ID != "" }) {
		s.ToldOf = "Nothing is saved or sent. The source has rows, and none of the first can be used:"
		for _, f := range rows.Items[0].Faults {
			s.at(sourceAt).add(inSentences(f.Message, f.Fix))
		}
	}
	for _, it := range rows.Items {
		if it.ID == "" {
			s.Told = append(s.Told, "without an id: "+oneLine(it.Data))
			continue
		}
		s.Told = append(s.Told, it.ID+": "+oneLine(it.Data))
	}
	return s.again(v)
}

// needSource says that items are missing, if neither the form nor the template says where they come from.
func (s *sheet) needSource(ctx context.Context, v *visit, n *api.NewBulkAction) error {
	if n.Template == "" || n.Source != nil || len(n.Items) > 0 {
		return nil // the API looks at whole definitions
	}
	t, err := v.templateOf(ctx, n)
	if i := s.at(sourceAt); i.Fault == "" && err == nil && t.Name != "" && t.BulkAction.Source == nil && len(t.BulkAction.Items) == 0 {
		i.Fault = "The template does not say where its items come from. Choose a connection, or enter the URL of a segment."
	}
	return err
}

// tenantOf fills in the tenant that alone may use a template, and says so if another one is written.
func (s *sheet) tenantOf(ctx context.Context, v *visit, n *api.NewBulkAction) error {
	t, err := v.templateOf(ctx, n)
	if err != nil || t.Tenant == "" {
		return err
	}
	switch i := s.at("tenant"); i.Value {
	case "":
		i.Value = t.Tenant
	case t.Tenant:
	default:
		i.Fault = format.Stop(fmt.Sprintf("The template %s belongs to the tenant %s", titleOf(&t), t.Tenant))
	}
	return nil
}

// bulkAction reads what a schedule makes. The whole definition applies where the fields say nothing.
func (s *sheet) bulkAction(ctx context.Context, v *visit) (n api.NewBulkAction, err error) {
	s.define("bulk_action", &n)
	chosen := s.at("bulk_action.template").Value
	if id, like := strings.CutPrefix(chosen, likePrefix); like {
		own := n
		if _, n, err = v.again(ctx, id); err != nil {
			return n, err
		}
		if n.Source == nil {
			n.Source, n.Items = own.Source, own.Items
		}
	} else {
		n.Template = chosen
		if err := s.tenantOf(ctx, v, &n); err != nil {
			return n, err
		}
		if given := s.params(); given != nil || chosen != "" {
			n.Params = given
		}
	}
	from, err := s.source(ctx, v)
	if from != nil {
		n.Source = from
	}
	return n, err
}
