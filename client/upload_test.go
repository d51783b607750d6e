package client_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/client"
)

// tusServer takes uploads by the protocol, and cuts every other request off in the middle.
type tusServer struct {
	mu    sync.Mutex
	got   []byte
	size  int64
	calls int
	cuts  int
	meta  string
}

func (s *tusServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Tus-Resumable") != "1.0.0" {
		http.Error(w, "not tus", http.StatusPreconditionFailed)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.size, _ = strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
		s.meta = r.Header.Get("Upload-Metadata")
		w.Header().Set("Location", "http://"+r.Host+"/v1/uploads/upl_1")
		w.WriteHeader(http.StatusCreated)
	case http.MethodHead:
		if !strings.HasSuffix(r.URL.Path, "/upl_1") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Upload-Offset", strconv.Itoa(len(s.got)))
	case http.MethodPatch:
		if r.Header.Get("Upload-Offset") != strconv.Itoa(len(s.got)) {
			http.Error(w, "ERR_MISMATCHED_OFFSET", http.StatusConflict)
			return
		}
		s.calls++
		if s.calls%2 == 0 { // a part arrives, and the answer never does
			part, _ := io.ReadAll(io.LimitReader(r.Body, 7))
			s.got, s.cuts = append(s.got, part...), s.cuts+1
			panic(http.ErrAbortHandler)
		}
		all, _ := io.ReadAll(r.Body)
		s.got = append(s.got, all...)
		w.Header().Set("Upload-Offset", strconv.Itoa(len(s.got)))
		w.WriteHeader(http.StatusNoContent)
	}
}

func tusClient(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	c, err := client.New(client.Options{Server: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAnUploadArrivesWholeOverCuts(t *testing.T) {
	file, s := bytes.Repeat([]byte("0123456789"), 12), &tusServer{}
	c := tusClient(t, s)
	begun, last := "", int64(0)
	id, err := c.Upload(t.Context(), client.Upload{
		Name: "users.csv", Size: int64(len(file)), Piece: 32,
		Begun: func(id string) { begun = id }, Sent: func(n int64) { last = n },
	}, bytes.NewReader(file))
	if err != nil || id != "upl_1" || begun != id {
		t.Fatalf("Upload = %q, %v; begun as %q", id, err, begun)
	}
	if !bytes.Equal(s.got, file) || s.cuts == 0 {
		t.Errorf("after %d cuts %q has arrived", s.cuts, s.got)
	}
	if last != int64(len(file)) || s.meta != "filename dXNlcnMuY3N2" {
		t.Errorf("told %d bytes, with metadata %q", last, s.meta)
	}
}

func TestAnUploadGoesOnInAnotherProcess(t *testing.T) {
	file := []byte("a rather short file")
	s := &tusServer{got: []byte("a rather"), size: int64(len(file))}
	c := tusClient(t, s)
	if _, err := c.Upload(t.Context(), client.Upload{ID: "upl_1", Size: int64(len(file))}, bytes.NewReader(file)); err != nil || string(s.got) != string(file) {
		t.Errorf("Upload fails with %v, and %q has arrived", err, s.got)
	}
	if _, err := c.Upload(t.Context(), client.Upload{ID: "upl_2", Size: 1}, bytes.NewReader(file)); !client.IsCode(err, "not_found") {
		t.Errorf("of one that is gone: %v, want not_found", err)
	}
}

func TestAFileThatIsShorterThanItsSizeIsAnError(t *testing.T) {
	c := tusClient(t, &tusServer{})
	if _, err := c.Upload(t.Context(), client.Upload{Size: 10, Piece: 4}, strings.NewReader("abcd")); err == nil {
		t.Error("no error")
	}
}
