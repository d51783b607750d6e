package feed_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/minio/minio-go/v7/pkg/signer"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// bucket is one of a real S3 server, behind a proxy that sees and may change requests.
type bucket struct {
	*testenv.ObjectStoreServer
	t   testing.TB
	url string
	// before sees each request, and may answer in place of the server.
	before func(w http.ResponseWriter, r *http.Request) bool
	ranges []string // asked for, in order
	// obeysMatch is false for a server that does not know If-Match, so that our own check is what is tested.
	obeysMatch bool
}

func newBucket(t testing.TB) *bucket {
	t.Helper()
	b := &bucket{t: t, ObjectStoreServer: testenv.ObjectStore(t)}
	proxy := &httputil.ReverseProxy{ErrorLog: quiet(), Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", b.Addr, b.Addr
		r.Out = signer.SignV4(*r.Out, b.Key, b.Secret, "", b.Region) // anew: what was changed is part of the signature
	}}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.obeysMatch {
			r.Header.Del("If-Match")
		}
		b.ranges = append(b.ranges, r.Header.Get("Range"))
		if b.before == nil || !b.before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	srv.Config.ErrorLog = quiet()
	srv.Start()
	t.Cleanup(srv.Close)
	b.url = srv.URL
	return b
}

// quiet is for servers that complain of connections that break.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func (b *bucket) rig(t testing.TB, name string) *rig {
	return &rig{t: t, spec: feed.Spec{Object: &feed.Object{Connection: "there", Bucket: b.Bucket, Key: name}}, conn: feed.Connection{
		Kind: feed.KindS3, Address: b.url, User: b.Key, Password: vault.NewSecret(b.Secret), Region: b.Region,
	}}
}

// file returns the same users in a format.
type file struct {
	name    string
	content []byte
	want    []weir.RawItem
	inLines bool // can be read from the middle
}

func files(t *testing.T, n int) []file {
	t.Helper()
	all := users(n)
	var ndjson, csv, array bytes.Buffer
	csv.WriteString("\xef\xbb\xbf\n id ,note;\n") // a byte order mark, a blank line, a name with blanks
	rows := make([]weir.RawItem, n)
	for i, it := range all {
		fmt.Fprintf(&ndjson, "%s\n%s", it.Value, strings.Repeat("\r\n", i%3))
		fmt.Fprintf(&csv, "%s,\"a\nb \"\"%s\"\" é\"\r\n", it.ID, noise(i))
		rows[i] = weir.RawItem{ID: it.ID, Value: fmt.Appendf(nil, `{"id":%q,"note;":"a\nb \"%s\" é"}`, it.ID, noise(i))}
		fmt.Fprintf(&array, "%c %s", "[,"[min(i, 1)], it.Value)
	}
	array.WriteString("]")
	text := csv.Bytes()[3:]
	latin, err := charmap.Windows1252.NewEncoder().Bytes(text)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(text)
	if err != nil {
		t.Fatal(err)
	}
	return []file{
		{"users.ndjson", ndjson.Bytes(), all, true},
		{"users.csv", csv.Bytes(), rows, true},
		{"latin.csv", latin, rows, true},
		{"wide.csv", wide, rows, false},
		{"users.json", array.Bytes(), all, false},
		{"users.csv.gz", packed(t, csv.Bytes(), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }), rows, false},
		{"users.ndjson.zst", packed(t, ndjson.Bytes(), func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			return z
		}), all, false},
	}
}

func packed(t *testing.T, content []byte, pack func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := pack(&buf)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestAnObjectIsReadExactlyOnceThroughCrashes(t *testing.T) {
	b := newBucket(t)
	for _, f := range append(files(t, many())[:2], files(t, many()/4)[2:]...) {
		t.Run(f.name, func(t *testing.T) {
			b.Put(f.name, f.content)
			r := b.rig(t, f.name)
			r.spec.PageSize = len(f.want)/8 + 1
			between := int64(len(f.content)) // bytes from one crash to the next; with less it would never get to the end
			if f.inLines {
				between /= 8
			}
			r.survives(f.want, between)
			b.ranges = nil
			r.readOn("", true)
			resumed := slices.ContainsFunc(b.ranges, func(s string) bool { return s != "" })
			if resumed != f.inLines {
				t.Errorf("ranges = %q; read from the middle = %v, want %v", b.ranges, resumed, f.inLines)
			}
		})
	}
}

func TestAnObjectIsReadInOneRequestWithoutCrashes(t *testing.T) {
	b := newBucket(t)
	b.Put("users.ndjson", files(t, 5000)[0].content)
	r := b.rig(t, "users.ndjson")
	if _, pages := r.readOn("", false); pages != 5 || len(b.ranges) != 1 {
		t.Errorf("%d pages by %d requests, want 5 by 1", pages, len(b.ranges))
	}
}

func TestAnObjectThatChangesIsNotReadOn(t *testing.T) {
	b := newBucket(t)
	for i, f := range files(t, 3000) {
		t.Run(f.name, func(t *testing.T) {
			b.obeysMatch = i%2 == 0
			b.Put(f.name, f.content)
			r := b.rig(t, f.name)
			p, err := r.first()
			if err != nil {
				t.Fatal(err)
			}
			b.Put(f.name, append(bytes.Clone(f.content), '\n'))
			_, err = r.open().Read(t.Context(), p.Next)
			isPermanent(t, err, feed.CodeChanged, "replaced")
		})
	}
	t.Run("and is gone", func(t *testing.T) {
		b.Put("gone.csv", []byte("id\n1\n2\n"))
		r := b.rig(t, "gone.csv")
		r.spec.PageSize = 1
		p, err := r.first()
		if err != nil {
			t.Fatal(err)
		}
		b.Remove("gone.csv")
		_, err = r.open().Read(t.Context(), p.Next)
		isPermanent(t, err, feed.CodeNotFound, "no such object")
	})
}

func TestAServerWithoutRangesIsReadFromTheStart(t *testing.T) {
	b := newBucket(t)
	f := files(t, 3000)[1]
	b.Put(f.name, f.content)
	b.before = func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false }
	got, _ := b.rig(t, f.name).readOn("", true)
	sameItems(t, "without ranges", got, f.want)
}

func TestBadObjectsArePermanentAndSayWhere(t *testing.T) {
	b := newBucket(t)
	good := strings.Repeat("{\"id\":\"a\"}\n", 2500)
	cut := packed(t, []byte(good), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	for _, tt := range []struct{ name, content, code, says string }{
		{"broken.ndjson", good + "{\"id\":\n", source.CodeBadLine, "line 2501, column 7"},
		{"no-id.ndjson", good + "{\"n\":1}\n", source.CodeMissingID, "line 2501"},
		{"zero-id.ndjson", good + "{\"id\":\"\\u0000\"}\n", feed.CodeBadEncoding, "line 2501"},
		{"zero.ndjson", good + good + good + good + "{\"id\":\"\x00\"}\n", source.CodeNotText, "zero bytes"},
		{"zero.csv", "id,n\n" + strings.Repeat("1234567,7654321\n", 9000) + "1,\x00\n", source.CodeNotText, "zero bytes"},
		{"wide-row.csv", "id,n\n" + strings.Repeat("1,2\n", 2500) + "1,2,3\n", source.CodeBadCSV, "line 2502"},
		{"twice.csv", "id,id\n1,2\n", source.CodeBadCSV, "both named"},
		{"empty.csv", "", source.CodeBadCSV, "empty"},
		{"sheet.csv", "PK\x03\x04 and so on", source.CodeNotText, "spreadsheet"},
		{"cut.json", `[{"id":"a"},`, source.CodeBadJSON, "too early"},
		{"cut.ndjson.gz", string(cut[:len(cut)-9]), source.CodeCutShort, "gzip"},
		{"huge.ndjson", `{"id":"a","x":"` + strings.Repeat("x", 300_000) + "\"}\n", source.CodeItemTooLarge, "line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.Put(tt.name, []byte(tt.content))
			for _, anew := range []bool{false, true} { // one feed for all pages, or one for each, which counts lines on
				isPermanent(t, b.rig(t, tt.name).fails(anew), tt.code, tt.says)
			}
		})
	}
}

func TestAnObjectWithoutItemsEndsAtOnce(t *testing.T) {
	b := newBucket(t)
	for name, content := range map[string]string{"none.csv": "id,n\n", "none.ndjson": "\n\n", "none.json": "[]"} {
		b.Put(name, []byte(content))
		p, err := b.rig(t, name).first()
		if err != nil || !p.Last || len(p.Items) > 0 {
			t.Errorf("%s: page = %+v, %v, want an empty last one", name, p, err)
		}
		if p, err := b.rig(t, name).open().Read(t.Context(), p.Next); err != nil || !p.Last {
			t.Errorf("%s: page behind the last = %+v, %v, want an empty last one", name, p, err)
		}
	}
}

func TestRefusalsOfAnObjectStore(t *testing.T) {
	b := newBucket(t)
	r := b.rig(t, "nowhere.csv")
	_, err := r.first()
	isPermanent(t, err, feed.CodeNotFound, "no such object")
	for status, code := range map[int]string{
		http.StatusForbidden: feed.CodeRefused, http.StatusMovedPermanently: feed.CodeRefused, http.StatusPreconditionFailed: feed.CodeChanged,
		http.StatusServiceUnavailable: "", http.StatusTooManyRequests: "",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			b.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
			_, err := b.rig(t, "x.csv").first()
			if code == "" {
				isTransient(t, err, 0)
			} else {
				isPermanent(t, err, code)
			}
		})
	}
}

func TestOptionsOverruleWhatAnObjectLooksLike(t *testing.T) {
	b := newBucket(t)
	b.Put("odd.txt", []byte("x;1\ny;2\n"))
	r := b.rig(t, "odd.txt")
	r.spec.ID, r.spec.PageSize = "n", 1
	r.spec.Object.Format, r.spec.Object.Delimiter, r.spec.Object.Columns = source.CSV, ";", []string{"name", "n"}
	got, _ := r.readOn("", true)
	sameItems(t, "odd.txt", got, []weir.RawItem{
		{ID: "1", Value: []byte(`{"name":"x","n":"1"}`)}, {ID: "2", Value: []byte(`{"name":"y","n":"2"}`)},
	})
}
