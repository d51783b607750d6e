package redisstore_test

import (
	"errors"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

func TestSizeIsTheMemoryOfTheServers(t *testing.T) {
	r, other := testenv.Redis(t), testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	before, err := s.Size(t.Context())
	if err != nil || before <= 0 {
		t.Fatalf("Size = %d, %v", before, err)
	}
	const much = 4 << 20
	if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{make([]byte, much)}); err != nil {
		t.Fatal(err)
	}
	after, err := s.Size(t.Context())
	if err != nil || after < before+much/2 {
		t.Errorf("with %d bytes more the size went from %d to %d, %v", much, before, after, err)
	}
	both := redisstore.NewSpread(s, open(t, redisstore.Options{Addresses: []string{other.Addr}, Mode: redisstore.Memory}))
	if sum, err := both.Size(t.Context()); err != nil || sum <= after {
		t.Errorf("two servers have %d, and one of them %d, %v", sum, after, err)
	}
	if err := both.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := both.Size(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: Size = %d, %v; want %v", n, err, store.ErrClosed)
	}
}
