package upload_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/upload"
	"github.com/weirhq/weir/store"
)

func TestAFileInPiecesReadsAsItWasSent(t *testing.T) {
	r := newRig(t)
	raw := content(9 << 20) // more than two blocks
	id := r.begin(len(raw))
	for from := 0; from < len(raw); from += 5 << 20 {
		r.wantOffset(id, from)
		r.send(id, from, bytes.NewReader(raw[from:min(from+5<<20, len(raw))]), 204)
	}
	r.wantWhole(id, raw)
	r.call("DELETE", id, nil, 204)
	r.call("HEAD", id, nil, 404)
}

func TestOffsetsThatAreNotTheEndAreRefused(t *testing.T) {
	r := newRig(t)
	raw := content(1000)
	id := r.begin(len(raw))
	r.send(id, 0, bytes.NewReader(raw[:600]), 204)
	for _, offset := range []int{0, 599, 601, 1000, 5000} {
		r.send(id, offset, bytes.NewReader(raw[:100]), 409)
	}
	r.call("PATCH", id, bytes.NewReader(raw[:100]), 400, "Upload-Offset", "-1")
	r.call("PATCH", id, bytes.NewReader(raw[:100]), 400)
	r.wantOffset(id, 600)
	r.send(id, 600, bytes.NewReader(raw[600:]), 204)
	r.wantWhole(id, raw)
	r.send(id, 600, bytes.NewReader(raw[600:]), 409) // it is whole
	r.wantWhole(id, raw)
}

// broken is a body that breaks off.
type broken struct {
	from io.Reader
	err  error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func TestAnUploadGoesOnAfterABreak(t *testing.T) {
	for name, cut := range map[string]error{"the body is cut": io.ErrUnexpectedEOF, "the connection is gone": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			raw := content(6 << 20)
			id := r.begin(len(raw))
			up, err := r.GetUpload(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			n, err := up.WriteChunk(t.Context(), 0, &broken{bytes.NewReader(raw[:5<<20]), cut})
			if n != 5<<20 || err != nil && !errors.Is(err, cut) {
				t.Errorf("WriteChunk = %d, %v; want what came before the break", n, err)
			}
			r.wantOffset(id, 5<<20)
			if f, _ := r.Get(t.Context(), id); f.Done() {
				t.Error("half of it passes for all")
			}
			r.send(id, 5<<20, bytes.NewReader(raw[5<<20:]), 204)
			r.wantWhole(id, raw)
		})
	}
}

func TestAPieceThatIsNotKeptIsNotCounted(t *testing.T) {
	r := newRig(t)
	raw := content(6 << 20)
	id, puts := r.begin(len(raw)), 0
	r.shelf.put = func() error {
		if puts++; puts == 2 {
			return store.ErrUnavailable
		}
		return nil
	}
	r.send(id, 0, bytes.NewReader(raw), 500)
	r.wantOffset(id, 4<<20) // the first block
	r.send(id, 4<<20, bytes.NewReader(raw[4<<20:]), 204)
	r.wantWhole(id, raw)
}

func TestSizesAreLimited(t *testing.T) {
	r := newRig(t)
	r.call("POST", "", nil, 413, "Upload-Length", strconv.Itoa(maxSize+1))
	r.call("POST", "", nil, 400, "Upload-Length", "-1")
	r.call("POST", "", nil, 400)
	id := r.begin(100)
	r.send(id, 0, bytes.NewReader(content(150)), 413) // more than was said
	if f, err := r.Get(t.Context(), id); err != nil || f.Offset > 100 {
		t.Errorf("Get = %+v, %v; want no more than 100 bytes", f, err)
	}
}

func TestASizeThatComesLaterComesOnce(t *testing.T) {
	r := newRig(t)
	at := r.call("POST", "", nil, 201, "Upload-Defer-Length", "1").Get("Location")
	id := at[strings.LastIndexByte(at, '/')+1:]
	raw := content(1000)
	r.send(id, 0, bytes.NewReader(raw[:600]), 204)
	if f, _ := r.Get(t.Context(), id); f.Done() {
		t.Error("without a size it passes for whole")
	}
	r.call("PATCH", id, bytes.NewReader(raw[600:]), 400, "Upload-Offset", "600", "Upload-Length", "599") // less than is there
	r.call("PATCH", id, bytes.NewReader(raw[600:]), 204, "Upload-Offset", "600", "Upload-Length", "1000")
	r.wantWhole(id, raw)
	up, err := r.GetUpload(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	declare := r.AsLengthDeclarableUpload(up).DeclareLength
	if err := declare(t.Context(), 2000); !errors.Is(err, handler.ErrInvalidUploadLength) {
		t.Errorf("another size for what is whole = %v, want ErrInvalidUploadLength", err)
	}
	if err := declare(t.Context(), 1000); err != nil {
		t.Errorf("the same size again = %v", err)
	}
	r.wantWhole(id, raw)
}

// TestOfManyWhoSendTheSamePieceOneIsCounted holds all of them back until each has its offset.
func TestOfManyWhoSendTheSamePieceOneIsCounted(t *testing.T) {
	r := newRig(t)
	const senders, size = 8, 100_000
	raw := content(2 * size)
	id := r.begin(len(raw))
	for from := 0; from < len(raw); from += size {
		var all, arrived sync.WaitGroup
		arrived.Add(senders)
		r.shelf.put = func() error { arrived.Done(); arrived.Wait(); return nil }
		results := make(chan error, senders)
		for range senders {
			all.Go(func() {
				up, err := r.GetUpload(t.Context(), id)
				if err == nil {
					_, err = up.WriteChunk(t.Context(), int64(from), bytes.NewReader(raw[from:from+size]))
				}
				results <- err
			})
		}
		all.Wait()
		close(results)
		won := 0
		for err := range results {
			if err == nil {
				won++
			} else if !errors.Is(err, handler.ErrMismatchOffset) {
				t.Errorf("WriteChunk = %v, want ErrMismatchOffset of those who were late", err)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d were counted, want 1", won, senders)
		}
		r.wantOffset(id, from+size)
	}
	r.wantWhole(id, raw)
	if err := r.Remove(t.Context(), id); err != nil || r.shelf.kept(blocks(id)) != 0 {
		t.Errorf("Remove = %v with %d blocks left, want no blocks of any upload", err, r.shelf.kept(blocks(id)))
	}
}

func blocks(id string) weir.BulkID { return weir.BulkID("ba_" + strings.TrimPrefix(id, "upl_")) }

func TestUploadsOfOthersAreNotThere(t *testing.T) {
	r := newRig(t)
	id := r.begin(10)
	r.tenant = "other"
	r.call("HEAD", id, nil, 404)
	r.send(id, 0, strings.NewReader("0123456789"), 404)
	r.call("DELETE", id, nil, 404)
	for _, id := range []string{"nonsense", "upl_", "upl_" + strings.Repeat("x", 26), "ba_" + id[4:]} {
		r.call("HEAD", id, nil, 404)
	}
	r.tenant = "acme"
	r.wantOffset(id, 0)
}

func TestUntouchedUploadsExpire(t *testing.T) {
	r := newRig(t)
	old := r.begin(20)
	r.send(old, 0, strings.NewReader("0123456789"), 204)
	f, err := r.Get(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	young := r.begin(10)
	if err := r.Sweep(t.Context(), f.Touched, nil); err != nil {
		t.Fatal(err)
	}
	r.wantOffset(old, 10) // touched just then
	if err := r.Sweep(t.Context(), f.Touched.Add(time.Nanosecond), nil); err != nil {
		t.Fatal(err)
	}
	r.call("HEAD", old, nil, 404)
	r.wantOffset(young, 0)
	if has, err := r.Has(t.Context(), blocks(old)); has || err != nil || r.shelf.kept(blocks(old)) != 0 {
		t.Errorf("of what has expired there is a record: %t, %v, and %d blocks", has, err, r.shelf.kept(blocks(old)))
	}
}

func TestARemovalThatWasCutShortShowsNothingAndIsFinishedLater(t *testing.T) {
	r := newRig(t)
	raw := content(10 << 20)
	id := r.begin(len(raw))
	r.send(id, 0, bytes.NewReader(raw), 204)
	from, err := r.Reader(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r.shelf.drop = store.ErrUnavailable
	if err := r.Remove(t.Context(), id); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Remove = %v", err)
	}
	r.call("HEAD", id, nil, 404)
	r.send(id, len(raw), strings.NewReader("more"), 404)
	if f, err := r.Get(t.Context(), id); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("what is half removed is there: %+v, %v", f, err)
	}
	if got, err := io.ReadAll(from); err == nil {
		t.Errorf("a reader gets %d bytes without an error", len(got))
	}
	if has, err := r.Has(t.Context(), blocks(id)); !has || err != nil {
		t.Errorf("Has = %t, %v: the owner of these blocks is lost", has, err)
	}
	r.shelf.drop = nil
	if err := r.Sweep(t.Context(), time.Time{}, nil); err != nil {
		t.Fatal(err)
	}
	if has, _ := r.Has(t.Context(), blocks(id)); has || r.shelf.kept(blocks(id)) != 0 {
		t.Errorf("after the sweep there is a record: %t, and %d blocks", has, r.shelf.kept(blocks(id)))
	}
}

func TestTheLastUseRemovesAnUpload(t *testing.T) {
	r := newRig(t)
	raw := content(10 << 20)
	id := r.begin(len(raw))
	r.send(id, 0, bytes.NewReader(raw), 204)
	for _, bulk := range []string{"ba_1", "ba_2", "ba_1"} {
		if err := r.Use(t.Context(), id, bulk); err != nil {
			t.Fatal(err)
		}
	}
	for _, bulk := range []string{"ba_1", "ba_1", "ba_other"} {
		if err := r.Release(t.Context(), id, bulk); err != nil {
			t.Fatal(err)
		}
	}
	r.wantWhole(id, raw)
	r.shelf.drop = store.ErrUnavailable
	if err := r.Release(t.Context(), id, "ba_2"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Release = %v, want that the blocks are not removed", err)
	}
	if err := r.Use(t.Context(), id, "ba_3"); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("Use of what is half removed = %v, want ErrNotFound", err)
	}
	r.shelf.drop = nil
	if err := r.Release(t.Context(), id, "ba_2"); err != nil {
		t.Errorf("Release again = %v", err)
	}
	if has, err := r.Has(t.Context(), blocks(id)); has || err != nil || r.shelf.kept(blocks(id)) != 0 {
		t.Errorf("after the last use there is a record: %t, %v, and %d blocks", has, err, r.shelf.kept(blocks(id)))
	}
}

func TestAnOldUploadStaysWhileABulkActionWaitsForIt(t *testing.T) {
	r := newRig(t)
	id := r.begin(10)
	r.send(id, 0, strings.NewReader("0123456789"), 204)
	if err := r.Use(t.Context(), id, "ba_1"); err != nil {
		t.Fatal(err)
	}
	for _, waits := range []bool{true, false} {
		err := r.Sweep(t.Context(), time.Now().Add(time.Hour), func(_ context.Context, file, bulk string) (bool, error) {
			return waits && file == id && bulk == "ba_1", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if has, err := r.Has(t.Context(), blocks(id)); has != waits || err != nil {
			t.Errorf("the upload is there: %t, %v; want %t", has, err, waits)
		}
	}
}

func TestAnUploadHasABoundOfUses(t *testing.T) {
	r := newRig(t)
	id := r.begin(10)
	for i := range 100 {
		if err := r.Use(t.Context(), id, "ba_"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Use(t.Context(), id, "ba_more"); !errors.Is(err, upload.ErrTooManyUses) {
		t.Errorf("Use = %v, want ErrTooManyUses", err)
	}
}
