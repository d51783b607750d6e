package feed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/vault"
)

func TestCheckNamesEveryFault(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		want       string // fields and codes
	}{
		{"a segment", `{"segment":{"url":"https://example.com/users?x=1"},"page_size":500,"timeout":"1m30s"}`, ""},
		{"a segment of a connection", `{"segment":{"connection":"crm","url":"users","method":"POST","body":{"a":1}}}`, ""},
		{"a query", `{"postgres":{"connection":"db","query":"SELECT 1 AS id","key":"id"}}`, ""},
		{"an object", `{"object":{"connection":"s3","bucket":"b","key":"k.csv","format":"csv","delimiter":";","columns":["id"]}}`, ""},
		{"a topic", `{"kafka":{"connection":"k","topic":"t","since":"2026-03-01T00:00:00Z","offsets":{"3":17}},"id":"user"}`, ""},
		{"nothing", `{}`, "source bad_source"},
		{"two", `{"segment":{"url":"http://h/"},"kafka":{"connection":"k","topic":"t"}}`, "source bad_source"},
		{"empty ones", `{"segment":{},"postgres":{},"object":{},"kafka":{}}`, "segment.url missing_field, " +
			"postgres.connection missing_field, postgres.query missing_field, postgres.key missing_field, " +
			"object.connection missing_field, object.bucket missing_field, object.key missing_field, " +
			"kafka.connection missing_field, kafka.topic missing_field, source bad_source"},
		{"sizes", `{"segment":{"url":"http://h/"},"page_size":10001,"timeout":"11m"}`, "page_size out_of_range, timeout out_of_range"},
		{"negative sizes", `{"segment":{"url":"http://h/"},"page_size":-1,"timeout":"-1s"}`, "page_size out_of_range, timeout out_of_range"},
		{"a relative URL without connection", `{"segment":{"url":"/users"}}`, "segment.url bad_url"},
		{"another scheme", `{"segment":{"url":"ftp://h/users"}}`, "segment.url bad_url"},
		{"another scheme with a connection", `{"segment":{"connection":"c","url":"file:///etc/passwd"}}`, ""},
		{"a password in the URL", `{"segment":{"url":"http://u:p@h/"}}`, "segment.url bad_url"},
		{"a fragment", `{"segment":{"url":"http://h/#x"}}`, "segment.url bad_url"},
		{"no URL at all", `{"segment":{"url":"http://h:x/"}}`, "segment.url bad_url"},
		{"a long URL", `{"segment":{"url":"http://h/` + strings.Repeat("x", 2048) + `"}}`, "segment.url too_long"},
		{"another method", `{"segment":{"url":"http://h/","method":"DELETE"}}`, "segment.method bad_method"},
		{"equal parameters", `{"segment":{"url":"http://h/","limit_param":"x","cursor_param":"x"}}`, "segment.cursor_param bad_param"},
		{"a body with GET", `{"segment":{"url":"http://h/","body":{}}}`, "segment.body bad_body"},
		{"a body that is a list", `{"segment":{"url":"http://h/","method":"POST","body":[]}}`, "segment.body bad_json"},
		{"control characters", `{"postgres":{"connection":"a\u0000","query":"SELECT\n1","key":"k\u001b"}}`, "postgres.connection bad_text, postgres.key bad_text"},
		{
			"an odd object", `{"object":{"connection":"c","bucket":"b","key":"k","format":"xml","delimiter":"ab","columns":[""]}}`,
			"object.format bad_format, object.delimiter bad_delimiter, object.columns[0] missing_field",
		},
		{"two ids", `{"kafka":{"connection":"c","topic":"t","id_from_key":true},"id":"x"}`, "kafka.id_from_key bad_source"},
		{"negative offsets", `{"kafka":{"connection":"c","topic":"t","offsets":{"1":-2}}}`, "kafka.offsets[1] out_of_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s feed.Spec
			if err := json.Unmarshal([]byte(tt.spec), &s); err != nil {
				t.Fatal(err)
			}
			var got []string
			err := s.Check()
			if in, ok := errors.AsType[*weir.InputError](err); ok {
				for _, f := range in.Fields {
					got = append(got, f.Field+" "+f.Code)
					if f.Problem == "" || f.Fix == "" {
						t.Errorf("%s: problem %q, fix %q; want both", f.Field, f.Problem, f.Fix)
					}
				}
			}
			if all := strings.Join(got, ", "); all != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("faults = %s (%v), want %s", all, err, tt.want)
			}
		})
	}
}

func TestASpecIsWrittenAsItIsRead(t *testing.T) {
	const text = `{"postgres":{"connection":"db","query":"SELECT 1 AS id","key":"id"},"id":"id","page_size":10,"timeout":"1m30s"}`
	var s feed.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(s); err != nil || string(got) != text {
		t.Errorf("written = %s, %v, want %s", got, err, text)
	}
}

func TestOpenRefusesWhatCannotBeReached(t *testing.T) {
	kafka := feed.Spec{Kafka: &feed.Kafka{Connection: "there", Topic: "t"}}
	query := feed.Spec{Postgres: &feed.Postgres{Connection: "there", Query: "SELECT 1 AS id", Key: "id"}}
	list := feed.Spec{Segment: &feed.Segment{Connection: "there", URL: "users"}}
	object := feed.Spec{Object: &feed.Object{Connection: "there", Bucket: "bucket", Key: "k"}}
	elsewhere := feed.Spec{Segment: &feed.Segment{Connection: "there", URL: "https://evil.example/"}}
	file := feed.Spec{Segment: &feed.Segment{Connection: "there", URL: "file:///etc/passwd"}}
	for _, tt := range []struct {
		name string
		spec feed.Spec
		conn feed.Connection
		want string
	}{
		{"another kind", kafka, feed.Connection{Kind: feed.KindHTTP, Address: "http://h"}, "of kind http"},
		{"no address", query, feed.Connection{Kind: feed.KindPostgres}, "no address"},
		{"a socket", query, feed.Connection{Kind: feed.KindPostgres, Address: "/var/run/postgresql"}, "not host:port"},
		{"an unknown mechanism", kafka, feed.Connection{Kind: feed.KindKafka, Address: "h:1", SASL: "gssapi"}, "gssapi"},
		{"a broken certificate", kafka, feed.Connection{Kind: feed.KindKafka, Address: "h:1", CA: "x"}, "certificate"},
		{"a server without scheme", list, feed.Connection{Kind: feed.KindHTTP, Address: "h"}, "not an http or https URL"},
		{"another server", elsewhere, feed.Connection{Kind: feed.KindHTTP, Address: "https://h"}, "another server"},
		{"a file", file, feed.Connection{Kind: feed.KindHTTP, Address: "https://h"}, "another server"},
		{"a weak secret", list, feed.Connection{Kind: feed.KindHTTP, Address: "https://h", Signing: vault.NewSecret("whsec_c2hvcnQ=")}, "signing secret"},
		{"a store with a path", object, feed.Connection{Kind: feed.KindS3, Address: "not a url"}, "not the URL of a server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := feed.Open(tt.spec, func(string) (feed.Connection, error) { return tt.conn, nil }, (&rig{t: t}).world())
			if in, ok := errors.AsType[*weir.InputError](err); !ok || !strings.Contains(in.Error(), tt.want) {
				t.Errorf("error = %v, want an input error that says %q", err, tt.want)
			}
		})
	}
	_, err := feed.Open(kafka, func(string) (feed.Connection, error) { return feed.Connection{}, weir.ErrNotFound }, (&rig{t: t}).world())
	if !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("error = %v, want that of the lookup", err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	c := feed.Connection{Kind: feed.KindHTTP, Password: vault.NewSecret("hush1"), Token: vault.NewSecret("hush2"), Headers: map[string]feed.Secret{"A": vault.NewSecret("hush3")}}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", slog.Any("c", c), slog.Any("p", c.Password))
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c.Token, c.Token), string(raw), log.String()} {
		if strings.Contains(text, "hush") {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestPreviewReadsTheFirstItems(t *testing.T) {
	want := users(50)
	r := segmentOf(t, list("cursor", want))
	r.spec.PageSize = 7
	for _, n := range []int{0, 5, 20, 50, 80} {
		got, err := feed.Preview(t.Context(), r.open(), n)
		if err != nil {
			t.Fatal(err)
		}
		sameItems(t, fmt.Sprintf("preview of %d", n), got, want[:min(n, 50)])
	}
}

func TestACursorOfAnotherSourceIsRefused(t *testing.T) {
	b := newBucket(t)
	b.Put("x.csv", []byte("id\n1\n"))
	for _, r := range []*rig{segmentOf(t, list("cursor", users(5))), b.rig(t, "x.csv")} {
		for _, c := range []feed.Cursor{"rubbish", "{}", "null", `{"kafka":{"parts":[]}}`, `{"http":{"pages":"x"},"s3":{"items":"x"}}`} {
			_, err := r.open().Read(t.Context(), c)
			isPermanent(t, err, feed.CodeBadCursor)
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	r := segmentOf(t, list("cursor", users(5)))
	r.spec.Timeout = api.Duration(time.Minute)
	ctx, cancel := contextThatEnded(t)
	defer cancel()
	if _, err := r.open().Read(ctx, ""); !errors.Is(err, ctx.Err()) {
		t.Errorf("error = %v, want that of the context", err)
	}
}
