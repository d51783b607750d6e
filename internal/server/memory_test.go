package server

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// claimed reports how much of the large pool of reading is taken.
func (m *memory) claimed(n int64) bool {
	if m.read.large.TryAcquire(m.read.largeSize - n) {
		m.read.large.Release(m.read.largeSize - n)
		return !m.read.large.TryAcquire(m.read.largeSize - n + 1)
	}
	return false
}

func TestABodyClaimsMemoryAsItComes(t *testing.T) {
	m := newMemory(16<<20, 1<<20)
	c := &claim{of: m}
	raw, err := c.readAll(strings.NewReader(strings.Repeat("x", 200<<10)))
	if err != nil || len(raw) != 200<<10 {
		t.Fatalf("read %d bytes, %v", len(raw), err)
	}
	if !m.claimed(256 << 10) {
		t.Error("a body of 200 KiB has not claimed 256 KiB")
	}
	c.release()
	c.release() // does nothing
	if !m.claimed(0) {
		t.Error("memory was not given back")
	}
}

func TestLargeBodiesLeaveRoomForSmallOnes(t *testing.T) {
	m := newMemory(16<<20, 1<<20)
	if !m.read.large.TryAcquire(m.read.largeSize) {
		t.Fatal("the large pool is taken")
	}
	c := &claim{of: m}
	var p *problem
	if _, err := c.readAll(strings.NewReader(strings.Repeat("x", 200<<10))); !errors.As(err, &p) || p.Code != "overloaded" || p.Status != 503 || p.header.Get("Retry-After") == "" {
		t.Errorf("a large body beyond the memory ended with %v, want overloaded", err)
	}
	c.release()
	small := &claim{of: m}
	defer small.release()
	if _, err := small.readAll(strings.NewReader(strings.Repeat("x", 60<<10))); err != nil {
		t.Errorf("a small body was refused: %v", err)
	}
}

func TestDecodingWaitsForMemoryAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(64<<20, 1<<20)
		large := []byte("[" + strings.Repeat("0,", 100_000) + "0]")
		first, second := &claim{of: m}, &claim{of: m}
		if p := first.build(t.Context(), large); p != nil {
			t.Fatal(p)
		}
		if p := second.build(t.Context(), large); p == nil || p.Code != "overloaded" {
			t.Errorf("the second large body was decoded beside the first: %v", p)
		}
		if p := second.build(t.Context(), []byte(`{"reason":"x"}`)); p != nil {
			t.Errorf("a small body waited for large ones: %v", p)
		}
		second.release()
		got := make(chan *problem)
		go func() { got <- second.build(context.Background(), large) }()
		synctest.Wait()
		first.release()
		if p := <-got; p != nil {
			t.Errorf("the body that waited was refused: %v", p)
		}
	})
}

func TestABodyOfTooManyValuesIsRefused(t *testing.T) {
	c := &claim{of: newMemory(64<<20, 1<<20)}
	if p := c.build(t.Context(), []byte("["+strings.Repeat("{},", maxParts/3)+"0]")); p == nil || p.Code != "too_many_values" || p.Status != 413 {
		t.Errorf("problem = %v, want too_many_values", p)
	}
	if _, err := c.readAll(iotestError{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a body that breaks ended with %v", err)
	}
	c.release()
}

type iotestError struct{}

func (iotestError) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
