package feed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/source"
)

// Bounds on texts in a spec, in bytes.
const (
	maxName  = 256
	maxURL   = 2048
	maxQuery = 64 << 10
	maxBody  = 64 << 10
)

// Check reports everything that is wrong with s as written, without any connection. Its error
// is a [*weir.InputError] with fields such as "postgres.key".
func (s *Spec) Check() error {
	in := &weir.InputError{}
	s.checkCommon(in)
	n := 0
	if s.Segment != nil {
		n++
		s.Segment.check(in)
	}
	if s.Postgres != nil {
		n++
		s.Postgres.check(in)
	}
	if s.Object != nil {
		n++
		s.Object.check(in)
	}
	if s.Kafka != nil {
		n++
		s.Kafka.check(in, s.ID)
	}
	if n != 1 {
		in.Add("bad_source", "source", fmt.Sprintf("%d sources are set", n), "set exactly one of segment, postgres, object and kafka")
	}
	return in.OrNil()
}

func (s *Spec) checkCommon(in *weir.InputError) {
	if s.PageSize < 0 || s.PageSize > MaxPageSize {
		in.Add("out_of_range", "page_size", fmt.Sprintf("%d is out of range", s.PageSize),
			fmt.Sprintf("use 1 to %d, or leave it out for %d", MaxPageSize, DefaultPageSize))
	}
	if s.Timeout < 0 || s.Timeout > maxTimeout {
		in.Add("out_of_range", "timeout", fmt.Sprintf("%v is out of range", s.Timeout),
			fmt.Sprintf("use up to %v, or leave it out for %v", maxTimeout, defaultTimeout))
	}
	checkText(in, "id", s.ID, maxName, false)
}

// checkText requires UTF-8 without control characters, at most most bytes, and not empty if
// needed is set.
func checkText(in *weir.InputError, field, v string, most int, needed bool) {
	switch {
	case v == "" && needed:
		in.Add("missing_field", field, "is missing", "set it")
	case len(v) > most:
		in.Add("too_long", field, fmt.Sprintf("has %d bytes", len(v)), fmt.Sprintf("use at most %d", most))
	case !utf8.ValidString(v):
		in.Add("bad_encoding", field, "is not UTF-8", "write it in UTF-8")
	case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f }):
		in.Add("bad_text", field, "has control characters", "leave them out")
	}
}

func (g *Segment) check(in *weir.InputError) {
	checkText(in, "segment.connection", g.Connection, maxName, false)
	checkText(in, "segment.limit_param", g.LimitParam, maxName, false)
	checkText(in, "segment.cursor_param", g.CursorParam, maxName, false)
	checkText(in, "segment.url", g.URL, maxURL, true)
	if problem, fix := g.checkURL(); problem != "" {
		in.Add("bad_url", "segment.url", problem, fix)
	}
	if g.Method != "" && g.Method != http.MethodGet && g.Method != http.MethodPost {
		in.Add("bad_method", "segment.method", fmt.Sprintf("%q cannot be used", g.Method), "use GET or POST")
	}
	if g.LimitParam == g.CursorParam && g.LimitParam != "" {
		in.Add("bad_param", "segment.cursor_param", "is the same as limit_param", "use two names")
	}
	g.checkBody(in)
}

func (g *Segment) checkURL() (problem, fix string) {
	u, err := url.Parse(g.URL)
	switch {
	case err != nil:
		return "is not a URL", "write it as https://host/path"
	case g.URL == "":
		return "", ""
	case g.Connection == "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https"),
		u.Host != "" && u.Scheme != "http" && u.Scheme != "https", u.Opaque != "":
		return "is not an http or https URL with a host", "write it as https://host/path, or name a connection that has the host"
	case u.User != nil:
		return "has a user or password in it", "keep secrets in a connection"
	case u.Fragment != "":
		return "has a fragment", "leave out what follows #"
	}
	return "", ""
}

func (g *Segment) checkBody(in *weir.InputError) {
	if len(g.Body) == 0 {
		return
	}
	var members map[string]json.RawMessage
	switch err := json.Unmarshal(g.Body, &members); {
	case g.Method != http.MethodPost:
		in.Add("bad_body", "segment.body", "is sent by POST alone", "set method to POST, or leave the body out")
	case len(g.Body) > maxBody:
		in.Add("too_long", "segment.body", fmt.Sprintf("has %d bytes", len(g.Body)), fmt.Sprintf("use at most %d", maxBody))
	case err != nil || members == nil:
		in.Add("bad_json", "segment.body", "is not a JSON object", `write {"name": value, ...}`)
	}
}

func (p *Postgres) check(in *weir.InputError) {
	checkText(in, "postgres.connection", p.Connection, maxName, true)
	checkText(in, "postgres.query", strings.TrimSpace(p.Query), maxQuery, true)
	checkText(in, "postgres.key", p.Key, maxName, true)
}

func (o *Object) check(in *weir.InputError) {
	checkText(in, "object.connection", o.Connection, maxName, true)
	checkText(in, "object.bucket", o.Bucket, maxName, true)
	checkText(in, "object.key", o.Key, 1024, true)
	switch o.Format {
	case source.Auto, source.CSV, source.NDJSON, source.JSON:
	default:
		in.Add("bad_format", "object.format", fmt.Sprintf("%q is not a known format", o.Format),
			"use csv, ndjson or json, or leave it out")
	}
	if d := o.Delimiter; d != "" && (len(d) != 1 || d[0] < ' ' && d[0] != '\t' || d[0] > '~' || d[0] == '"') {
		in.Add("bad_delimiter", "object.delimiter", fmt.Sprintf("%q cannot separate cells", d), "use one of , ; | or a tab")
	}
	checkText(in, "object.encoding", o.Encoding, maxName, false)
	for i, c := range o.Columns {
		checkText(in, fmt.Sprintf("object.columns[%d]", i), c, maxName, true)
	}
}

func (k *Kafka) check(in *weir.InputError, id string) {
	checkText(in, "kafka.connection", k.Connection, maxName, true)
	checkText(in, "kafka.topic", k.Topic, 249, true)
	if k.IDFromKey && id != "" {
		in.Add("bad_source", "kafka.id_from_key", "is set together with id", "leave out one of the two")
	}
	for p, at := range k.Offsets {
		if p < 0 || at < 0 {
			in.Add("out_of_range", fmt.Sprintf("kafka.offsets[%d]", p), "is negative", "use partitions and offsets from 0 on")
		}
	}
}
