package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// segment is the pages of blocks of the given sizes, the first with the given number.
func segment(t testing.TB, first uint32, sizes []int) [][]byte {
	t.Helper()
	var s Segment
	for i, n := range sizes {
		s.Add(first+uint32(i), hashes(first+uint32(i), n))
	}
	return pages(t, &s)
}

func pages(t testing.TB, s *Segment) (all [][]byte) {
	t.Helper()
	err := s.Each(func(page int, raw []byte) error {
		if page != len(all) {
			t.Fatalf("page %d comes after %d others", page, len(all))
		}
		all = append(all, slices.Clone(raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func idOf(block uint32, i int) string { return fmt.Sprintf("user-%d-%d", block, i) }

func hashes(block uint32, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = HashString(idOf(block, i))
	}
	return all
}

// finder opens the pages of a segment of so many items, and tells in which blocks a hash may be.
func finder(t testing.TB, items int, all [][]byte) func(hash uint64) []int {
	t.Helper()
	shape := ShapeOf(items)
	var opened []*Page
	for _, raw := range all {
		p, err := Open(raw)
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, p)
	}
	return func(hash uint64) []int { return opened[shape.PageOf(hash)].Blocks(nil, hash, shape) }
}

func sum(sizes []int) (n int) {
	for _, s := range sizes {
		n += s
	}
	return n
}

func sizes(blocks, n int) []int { return slices.Repeat([]int{n}, blocks) }

func TestEveryIDIsFoundInItsBlock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []int
		pages int
	}{
		{"one item", []int{1}, 1},
		{"no items", nil, 1},
		{"two items", []int{2}, 1},
		{"three blocks of one", sizes(3, 1), 1},
		{"a block that is not full", []int{7}, 1},
		{"a full block", []int{1024}, 1},
		{"blocks of all sizes", []int{1024, 3, 500, 1, 1024}, 1},
		{"as many as a page takes", sizes(64, 1024), 1},
		{"one more", append(sizes(64, 1024), 1), 2},
		{"a full segment", sizes(SegmentBlocks, 1024), MaxPages},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const first = 512
			all := segment(t, first, tt.sizes)
			if len(all) != tt.pages {
				t.Errorf("%d pages, want %d", len(all), tt.pages)
			}
			find := finder(t, sum(tt.sizes), all)
			for b, n := range tt.sizes {
				no := first + uint32(b)
				for i := 0; i < n; i += 1 + n/50 {
					if got := find(HashString(idOf(no, i))); !slices.Contains(got, b) {
						t.Fatalf("id %d of block %d may be in %v", i, b, got)
					}
				}
			}
		})
	}
}

func TestAnIDInSeveralBlocksIsFoundInEach(t *testing.T) {
	var s Segment
	same := []uint64{HashString("twice"), HashString("twice"), HashString("twice")}
	for no := range uint32(5) {
		s.Add(no, append(hashes(no, 100), same...))
	}
	if got := finder(t, 5*103, pages(t, &s))(HashString("twice")); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("it may be in %v, want all five blocks", got)
	}
}

func TestABlockOfOneIDManyTimes(t *testing.T) {
	var s Segment
	s.Add(9, slices.Repeat([]uint64{HashString("same")}, 1024))
	if got := finder(t, 1024, pages(t, &s))(HashString("same")); !slices.Equal(got, []int{9}) {
		t.Errorf("it may be in %v, want block 9", got)
	}
}

func TestFewBlocksAreNamedWronglyAndFewBitsAreKept(t *testing.T) {
	for _, blocks := range []int{1, 2, 3, 98, 129, SegmentBlocks} {
		t.Run(fmt.Sprintf("%d blocks", blocks), func(t *testing.T) {
			all, bytes, wrong := segment(t, 0, sizes(blocks, 1024)), 0, 0
			for _, raw := range all {
				bytes += len(raw)
			}
			const asked = 2000
			find := finder(t, blocks*1024, all)
			for i := range asked {
				wrong += len(find(HashString(fmt.Sprint("stranger", i))))
			}
			if rate := float64(wrong) / float64(asked*blocks); rate > 1.0/256*2 {
				t.Errorf("blocks named wrongly: 1 in %.0f, want about 1 in 256", 1/rate)
			}
			if got := float64(bytes*8) / float64(blocks*1024); got > 10.2 {
				t.Errorf("%.2f bits an id, want about 10", got)
			}
		})
	}
}

// TestAJointFilterTakesMembersOfAllSizes: it needs no more room for small ones between large ones, and names few wrongly.
func TestAJointFilterTakesMembersOfAllSizes(t *testing.T) {
	var s Segment
	items, bytes := 0, 0
	of := func(no uint32) int { return []int{17, 300, 40, 9000, 20, 60_000}[no%6] }
	for no := range uint32(60) {
		s.Add(no, hashes(no, of(no)))
		items += of(no)
	}
	pages, shape := s.Joint(), JointShape(items)
	find := func(hash uint64) []int {
		p, err := Open(pages[shape.PageOf(hash)])
		if err != nil {
			t.Fatal(err)
		}
		return p.Blocks(nil, hash, shape)
	}
	for no := range uint32(60) {
		for i := 0; i < of(no); i += 1 + of(no)/10 {
			if got := find(HashString(idOf(no, i))); !slices.Contains(got, int(no)) {
				t.Fatalf("id %d of member %d may be in %v", i, no, got)
			}
		}
	}
	wrong := 0
	for i := range 2000 {
		wrong += len(find(HashString(fmt.Sprint("stranger", i))))
	}
	for _, p := range pages {
		bytes = bytes + len(p)
		if len(p) > 11_000 {
			t.Errorf("a page of %d bytes, want ten kilobytes", len(p))
		}
	}
	if rate := float64(wrong) / 2000; rate > 60.0/256*2 {
		t.Errorf("%.2f members of 60 are named wrongly, want about 60/256", rate)
	}
	if got := float64(bytes*8) / float64(items); got > 10.2 {
		t.Errorf("%.2f bits an id, want about 10", got)
	}
}

func TestADamagedPageIsNoticed(t *testing.T) {
	whole := segment(t, 0, []int{40})[0]
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 0x08
		if _, err := Open(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with byte %d changed: %v, want ErrCorrupt", i, err)
		}
		if _, err := Open(whole[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v, want ErrCorrupt", i, err)
		}
	}
}

// FuzzOpen: whatever passes the checks can be asked.
func FuzzOpen(f *testing.F) {
	f.Add(segment(f, 0, []int{40})[0], uint64(1))
	f.Add(segment(f, 0, []int{1})[0], uint64(1<<63))
	f.Fuzz(func(t *testing.T, raw []byte, hash uint64) {
		if len(raw) >= header { // else nothing passes
			binary.LittleEndian.PutUint32(raw[1:], checksum(raw))
		}
		p, err := Open(raw)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
			return
		}
		p.Blocks(nil, hash, ShapeOf(40))
	})
}

func BenchmarkHash(b *testing.B) {
	id := []byte("user-1234567")
	for b.Loop() {
		Hash(id)
	}
}

func BenchmarkSegment(b *testing.B) {
	var block [SegmentBlocks][]uint64
	for no := range block {
		block[no] = hashes(uint32(no), 1024)
	}
	for b.Loop() {
		var s Segment
		for no := range block {
			s.Add(uint32(no), block[no])
		}
		if err := s.Each(func(int, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*SegmentBlocks*1024), "ns/id")
}
