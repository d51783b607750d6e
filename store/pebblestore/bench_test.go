package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

func openDisk(tb testing.TB, o Options) *Store {
	tb.Helper()
	o.Ballast, o.Logger = -1, quiet()
	s, err := Open(tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return s
}

// BenchmarkSubmit writes the blocks of a million items, 1,000 of 25 KB, with the
// message that makes them count, and reads and removes them again.
func BenchmarkSubmit(b *testing.B) {
	s := openDisk(b, Options{})
	const n, size = 1000, 25_000
	random := rand.NewChaCha8([32]byte{})
	blocks := make([][]byte, n)
	for i := range blocks {
		blocks[i] = make([]byte, size)
		_, _ = random.Read(blocks[i])
	}
	var put, appended, got time.Duration
	b.SetBytes(n * size)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := weir.BulkID(fmt.Sprintf("ba_%026d", i))
		start := time.Now()
		for k := 0; k < n; k += 8 {
			if err := s.PutBlocks(b.Context(), 1, id, uint32(k), blocks[k:k+8]); err != nil {
				b.Fatal(err)
			}
		}
		put += time.Since(start)
		start = time.Now()
		if err := s.Append(b.Context(), 1, blocks[0][:500], store.Claim{}); err != nil {
			b.Fatal(err)
		}
		appended += time.Since(start)
		start = time.Now()
		for k := range n {
			if _, err := s.GetBlock(b.Context(), 1, id, uint32(k)); err != nil {
				b.Fatal(err)
			}
		}
		got += time.Since(start)
		if err := s.DeleteBlocks(b.Context(), 1, id); err != nil {
			b.Fatal(err)
		}
	}
	perSecond := func(d time.Duration) float64 { return float64(b.N) * n * size / 1e6 / d.Seconds() }
	b.ReportMetric(perSecond(put), "put-MB/s")
	b.ReportMetric(perSecond(got), "get-MB/s")
	b.ReportMetric(float64(appended.Microseconds())/float64(b.N), "append-µs")
}

// BenchmarkCommit commits ten small rows at a time, from 1 to 16 partitions at once.
func BenchmarkCommit(b *testing.B) {
	for _, partitions := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			s := openDisk(b, Options{})
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for p := range partitions {
				wg.Go(func() { commitMany(b, s, p, b.N/partitions+1) })
			}
			wg.Wait()
		})
	}
}

func commitMany(b *testing.B, s *Store, partition, n int) {
	tok, err := s.Acquire(b.Context(), partition, "a", time.Hour)
	if err != nil {
		b.Error(err)
		return
	}
	batch := &store.Batch{}
	for i := range 10 {
		batch.Set = append(batch.Set, store.Row{Key: fmt.Appendf(nil, "row %d", i), Value: make([]byte, 64)})
	}
	for range n {
		batch.Number++
		if err := s.Commit(b.Context(), partition, tok, batch); err != nil {
			b.Error(err)
			return
		}
	}
}
