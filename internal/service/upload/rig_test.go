package upload_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/tus/tusd/v2/pkg/handler"
	"go.uber.org/goleak"
	xslog "golang.org/x/exp/slog" // tusd still takes this one

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/upload"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf keeps pieces in memory.
type shelf struct {
	mu     sync.Mutex
	pieces map[weir.BulkID]map[uint32][]byte
	put    func() error // asked before a piece is kept, if there is one
	drop   error        // what removing pieces ends with, if it does, with half of them gone
}

func (s *shelf) NewID(context.Context, string) (weir.BulkID, error) {
	return weir.BulkID("ba_" + strings.ToLower(ulid.Make().String())), nil
}

func (s *shelf) PutPiece(_ context.Context, id weir.BulkID, no uint32, piece []byte) error {
	if s.put != nil {
		if err := s.put(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pieces[id] == nil {
		s.pieces[id] = map[uint32][]byte{}
	}
	if _, taken := s.pieces[id][no]; taken {
		return fmt.Errorf("piece %d of %s is written twice", no, id)
	}
	s.pieces[id][no] = bytes.Clone(piece)
	return nil
}

func (s *shelf) GetPiece(_ context.Context, id weir.BulkID, no uint32) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pieces[id][no]
	if !ok {
		return nil, store.ErrNotFound
	}
	return p, nil
}

func (s *shelf) DropPieces(_ context.Context, id weir.BulkID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := len(s.pieces[id])
	for no := range s.pieces[id] {
		if s.drop != nil && 2*len(s.pieces[id]) <= all {
			return s.drop
		}
		delete(s.pieces[id], no)
	}
	delete(s.pieces, id)
	return nil
}

func (s *shelf) kept(id weir.BulkID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pieces[id])
}

// rig is uploads behind the protocol, as a server has them.
type rig struct {
	*upload.Uploads
	t      *testing.T
	shelf  *shelf
	tus    *handler.Handler
	tenant string
}

const maxSize = 20 << 20

func newRig(t *testing.T) *rig {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{t: t, shelf: &shelf{pieces: map[weir.BulkID]map[uint32][]byte{}}, tenant: "acme"}
	r.Uploads = upload.New(s, r.shelf, func(context.Context) (string, string) { return r.tenant, "key_1" })
	composer := handler.NewStoreComposer()
	composer.UseCore(r.Uploads)
	composer.UseTerminater(r.Uploads)
	composer.UseLengthDeferrer(r.Uploads)
	var err error
	r.tus, err = handler.NewHandler(handler.Config{
		StoreComposer: composer, BasePath: "/", MaxSize: maxSize, DisableDownload: true, DisableConcatenation: true,
		GracefulRequestCompletionTimeout: time.Millisecond, Cors: &handler.CorsConfig{Disable: true}, Logger: xslog.New(xslog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call makes a request of the protocol.
func (r *rig) call(method, id string, body io.Reader, want int, header ...string) http.Header {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel() // as a server does: the protocol's goroutines end by it
	req := httptest.NewRequestWithContext(ctx, method, "/"+id, body)
	req.Header.Set("Tus-Resumable", "1.0.0")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/offset+octet-stream")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.tus.ServeHTTP(w, req)
	if w.Code != want {
		r.t.Errorf("%s %s = %d %s, want %d", method, id, w.Code, strings.TrimSpace(w.Body.String()), want)
	}
	return w.Header()
}

func (r *rig) begin(size int) string {
	r.t.Helper()
	at := r.call("POST", "", nil, 201, "Upload-Length", strconv.Itoa(size)).Get("Location")
	return at[strings.LastIndexByte(at, '/')+1:]
}

func (r *rig) send(id string, offset int, body io.Reader, want int) {
	r.t.Helper()
	r.call("PATCH", id, body, want, "Upload-Offset", strconv.Itoa(offset))
}

func (r *rig) wantOffset(id string, want int) {
	r.t.Helper()
	if got := r.call("HEAD", id, nil, 200).Get("Upload-Offset"); got != strconv.Itoa(want) {
		r.t.Errorf("offset %s, want %d", got, want)
	}
}

// wantWhole wants that an upload reads as what was sent.
func (r *rig) wantWhole(id string, want []byte) {
	r.t.Helper()
	f, err := r.Get(r.t.Context(), id)
	if err != nil || !f.Done() {
		r.t.Fatalf("Get = %+v, %v; want all of it", f, err)
	}
	from, err := r.Reader(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	if got, err := io.ReadAll(from); err != nil || !bytes.Equal(got, want) {
		r.t.Errorf("%d bytes are read, %v; want the %d that were sent", len(got), err, len(want))
	}
}

// content is bytes no two places of which are alike.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
