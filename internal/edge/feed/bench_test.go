package feed_test

import (
	"bytes"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/edge/feed"
)

// BenchmarkSegment reads a segment over loopback, page after page; the server's own work is in it.
func BenchmarkSegment(b *testing.B) {
	items := users(20_000)
	srv := httptest.NewServer(list("cursor", items))
	defer srv.Close()
	spec := feed.Spec{Segment: &feed.Segment{URL: srv.URL + "/users"}}
	f, err := feed.Open(spec, nil, feed.World{Client: srv.Client(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for n := 0; n < b.N; {
		got, err := feed.Preview(b.Context(), f, min(b.N-n, len(items)))
		if err != nil {
			b.Fatal(err)
		}
		n += len(got)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkLines reads an object in lines, with what it takes to know where each line begins.
func BenchmarkLines(b *testing.B) {
	var lines bytes.Buffer
	items := users(50_000)
	for _, it := range items {
		lines.Write(it.Value)
		lines.WriteByte('\n')
	}
	k := newBucket(b)
	k.Put("users.ndjson", lines.Bytes())
	r := k.rig(b, "users.ndjson")
	b.ReportAllocs()
	for n := 0; n < b.N; {
		got, err := feed.Preview(b.Context(), r.open(), min(b.N-n, len(items)))
		if err != nil {
			b.Fatal(err)
		}
		n += len(got)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}
