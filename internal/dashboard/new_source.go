package dashboard

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// sourceForm is a source as the fields of a form.
type sourceForm struct {
	Connection, Query, Key, Bucket, Object, Format, Topic, Since, URL string
}

// sourceOf fills the form with the source of a draft.
func sourceOf(s *api.Source) (f sourceForm) {
	switch {
	case s == nil:
	case s.Postgres != nil:
		f = sourceForm{Connection: s.Postgres.Connection, Query: s.Postgres.Query, Key: s.Postgres.Key}
	case s.Object != nil:
		f = sourceForm{Connection: s.Object.Connection, Bucket: s.Object.Bucket, Object: s.Object.Key, Format: s.Object.Format}
	case s.Kafka != nil:
		f = sourceForm{Connection: s.Kafka.Connection, Topic: s.Kafka.Topic}
		if s.Kafka.Since != nil {
			f.Since = s.Kafka.Since.UTC().Format("2006-01-02")
		}
	case s.Segment != nil:
		f = sourceForm{Connection: s.Segment.Connection, URL: s.Segment.URL}
	}
	return f
}

// source makes a source of the form: the kind of the connection says which.
func (f *sourceForm) source(kind string) (*api.Source, *dataError) {
	switch kind {
	case "postgres":
		return &api.Source{Postgres: &api.PostgresSource{Connection: f.Connection, Query: f.Query, Key: f.Key}}, nil
	case "s3":
		return &api.Source{Object: &api.ObjectSource{Connection: f.Connection, Bucket: f.Bucket, Key: f.Object, Format: f.Format}}, nil
	case "kafka":
		k := &api.KafkaSource{Connection: f.Connection, Topic: f.Topic}
		if f.Since != "" {
			at, err := time.Parse("2006-01-02", f.Since)
			if err != nil {
				return nil, &dataError{"since", "This is not a date. Write it as 2026-12-24."}
			}
			k.Since = &at
		}
		return &api.Source{Kafka: k}, nil
	case "http", "":
		if f.URL != "" || kind == "http" {
			return &api.Source{Segment: &api.SegmentSource{Connection: f.Connection, URL: f.URL}}, nil
		}
	}
	return nil, &dataError{"connection", "Choose a connection, or enter the URL of a segment."}
}

// saveSource makes a source the data of a draft, and reads its first items.
func (d *Dashboard) saveSource(ctx context.Context, v *visit) (done, error) {
	w, err := v.open(ctx)
	if err != nil {
		return done{}, err
	}
	text := func(name string) string { return strings.TrimSpace(v.FormValue(name)) }
	p := &dataPage{wizard: w, Source: sourceForm{Connection: text("connection"), Query: text("query"), Key: text("key"), Bucket: text("bucket"),
		Object: text("object"), Format: text("format"), Topic: text("topic"), Since: text("since"), URL: text("url")}}
	kind := ""
	if p.Source.Connection != "" {
		c, err := v.api.Connections().Get(ctx, p.Source.Connection)
		if err != nil && refusal(err) == nil {
			return done{}, err
		}
		kind = c.Kind
	}
	src, bad := p.Source.source(kind)
	if err := v.check(ctx, w, 1); err != nil {
		return done{}, err
	}
	if bad != nil {
		w.Faults[bad.field] = bad.text
	} else if v.may("submit") && w.HasRows() && v.FormValue("rows") != strconv.FormatInt(w.Check.Rows, 10) {
		w.Faults["rows"] = "The source would replace the rows of the file. Say that they shall go, or keep them."
	} else if err := v.describe(ctx, w, func(n *api.NewBulkAction) { n.Source = src }); err != nil {
		if err := w.refuse(err, sourceField); err != nil {
			return done{}, err
		}
	}
	if err := v.match(ctx, w); err != nil {
		return done{}, err
	}
	if err := p.fill(ctx, v); err != nil {
		return done{}, err
	}
	if len(w.Faults) > 0 || len(w.Rest) > 0 || w.DataGone != "" {
		return done{}, &pageAgain{"new-data", p.content(1, p)}
	}
	return done{To: "/new/" + w.ID + "/data"}, nil
}

// sourceField returns the field of the form for a field of the API.
func sourceField(field string) string {
	switch last := field[strings.LastIndexByte(field, '.')+1:]; {
	case !strings.HasPrefix(field, "source"):
		return ""
	case field == "source.object.key":
		return "object"
	case last == "query", last == "key", last == "bucket", last == "topic", last == "url", last == "format", last == "since":
		return last
	}
	return "connection"
}
