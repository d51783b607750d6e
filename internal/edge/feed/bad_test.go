package feed_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// passesOver reads everything twice, with one feed and with a new one for each page, and wants all good
// items and every bad one counted once.
func (r *rig) passesOver(want []weir.RawItem, bad int64) {
	r.t.Helper()
	r.spec.SkipBad = true
	for _, anew := range []bool{false, true} {
		var got []weir.RawItem
		var passed int64
		f := r.open()
		for from := feed.Cursor(""); ; {
			p, err := f.Read(r.t.Context(), from)
			if err != nil {
				r.t.Fatalf("Read: %v", err)
			}
			got, passed, from = append(got, p.Items...), passed+p.Bad, p.Next
			if p.Last {
				break
			}
			if anew {
				_ = f.Close()
				f = r.open()
			}
		}
		_ = f.Close()
		sameItems(r.t, fmt.Sprintf("a new feed for each page: %v", anew), got, want)
		if passed != bad {
			r.t.Errorf("a new feed for each page: %v: %d bad items counted, want %d", anew, passed, bad)
		}
	}
}

// dirty puts a bad line before every third one, and two behind the last.
func dirty(lines []string, bad string) (text string, n int64) {
	var b strings.Builder
	for i, l := range lines {
		if i%3 == 0 {
			b.WriteString(bad)
			n++
		}
		b.WriteString(l)
	}
	return b.String() + bad + bad, n + 2
}

func TestBadRowsOfAnObjectArePassedOverAndCountedOnce(t *testing.T) {
	b, all := newBucket(t), users(50)
	var docs, rows []string
	csvItems := make([]weir.RawItem, len(all))
	for i, it := range all {
		docs = append(docs, string(it.Value)+"\n")
		rows = append(rows, it.ID+",x\n")
		csvItems[i] = weir.RawItem{ID: it.ID, Value: fmt.Appendf(nil, `{"id":%q,"note":"x"}`, it.ID)}
	}
	ndjson, badLines := dirty(docs, "{\"n\":1}\n") // no id
	csv, badRows := dirty(rows, "u,x,too many cells\n")
	csv = "id,note\n" + csv
	for _, f := range []struct {
		name    string
		content []byte
		want    []weir.RawItem
		bad     int64
	}{
		{"users.ndjson", []byte(ndjson), all, badLines},
		{"users.csv", []byte(csv), csvItems, badRows},
		{"users.ndjson.gz", packed(t, []byte(ndjson), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }), all, badLines},
		{"none.ndjson", bytes.Repeat([]byte("{\"n\":1}\n"), 40), nil, 40},
	} {
		t.Run(f.name, func(t *testing.T) {
			b.Put(f.name, f.content)
			r := b.rig(t, f.name)
			r.spec.PageSize, r.spec.ID = 7, "id"
			r.passesOver(f.want, f.bad)
		})
	}
}

func TestBadItemsOfASegmentArePassedOver(t *testing.T) {
	r := segmentOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"items":[{"n":1},7,{"id":"a"},{"id":{}}],"next_cursor":"2"}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"id":"b"},"x"]}`)
	})
	r.passesOver([]weir.RawItem{{ID: "a", Value: []byte(`{"id":"a"}`)}, {ID: "b", Value: []byte(`{"id":"b"}`)}}, 4)
}

func TestBadRecordsOfATopicArePassedOver(t *testing.T) {
	k := newTopic(t, 1)
	k.put(kgo.TryCommit, record(0, "", "hello"), record(0, "", `{"id":"a"}`), record(0, "", `{"n":1}`), record(0, "", `{"id":"b"}`), record(0, "", "[]"))
	r := k.rig(t)
	r.spec.PageSize = 1
	r.passesOver([]weir.RawItem{{ID: "a", Value: []byte(`{"id":"a"}`)}, {ID: "b", Value: []byte(`{"id":"b"}`)}}, 3)
}

func passedRows(t *testing.T, _ *testenv.PostgresServer, query queryRig) {
	r := query(t, "k", "SELECT i AS k, CASE WHEN i % 3 > 0 THEN 'u' || i END AS id FROM generate_series(1, 12) i")
	r.spec.ID, r.spec.PageSize = "id", 3
	var want []weir.RawItem
	for i := 1; i <= 12; i++ {
		if i%3 > 0 {
			want = append(want, weir.RawItem{ID: fmt.Sprint("u", i), Value: fmt.Appendf(nil, `{"k":%d,"id":"u%d"}`, i, i)})
		}
	}
	r.passesOver(want, 4)
}
