package recall

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
)

func TestTheOldestSubmitsGiveWay(t *testing.T) {
	var r recent
	sealed := make([]byte, 1<<20)
	kept := func(blocks int) *Kept {
		k := r.begin(0)
		for no := range blocks {
			r.keep(k, uint32(no), sealed)
		}
		return k
	}
	accept := func(blocks int) *sent {
		s := &sent{created: &partition.Created{}, kept: kept(blocks)}
		r.add(s)
		return s
	}
	first, second := accept(30), accept(30)
	third := accept(10)
	if r.blocks(first) != nil || len(r.blocks(second)) != 30 || len(r.blocks(third)) != 10 {
		t.Errorf("blocks kept: %d, %d, %d; want none of the first and all of the others", len(r.blocks(first)), len(r.blocks(second)), len(r.blocks(third)))
	}
	if huge := accept(70); r.blocks(huge) != nil {
		t.Errorf("%d blocks of one that is too large are kept, want none", len(r.blocks(huge)))
	}
	r.drop(kept(5))
	r.expire(map[int]bool{0: true}, time.Now())
	if r.bytes != 0 || len(r.sent) != 0 {
		t.Errorf("%d bytes and %d submits are left, want none", r.bytes, len(r.sent))
	}
}

func TestWhatIsRecentIsKnownByPartition(t *testing.T) {
	var r recent
	now := time.Unix(100, 0)
	for i := range 6 {
		r.add(&sent{partition: i % 2, at: now.Add(time.Duration(i) * time.Second)})
	}
	r.expire(map[int]bool{0: true}, now.Add(3*time.Second))
	if a, b := len(r.doubtful(0, "new")), len(r.doubtful(1, "new")); a != 1 || b != 3 {
		t.Errorf("%d and %d are recent, want 1 and 3", a, b)
	}
	if in := r.partitions(); !in[0] || !in[1] {
		t.Errorf("something is recent in %v, want partitions 0 and 1", in)
	}
	r.expire(map[int]bool{0: true, 1: true}, now.Add(time.Hour))
	if in := r.partitions(); len(in) != 0 {
		t.Errorf("something is said to be recent in %v, and nothing is", in)
	}
}

func TestOnlyWhatAnotherIncarnationTookIsDoubtful(t *testing.T) {
	var r recent
	r.doubtful(1, "first")
	begun := &sent{partition: 1, life: r.begin(1).life}
	r.doubtful(1, "second") // while the submit is under way
	r.add(begun)
	r.add(&sent{partition: 1, life: r.begin(1).life})
	r.add(&sent{partition: 2, life: r.begin(2).life}) // nothing is known of that one
	got := r.doubtful(1, "second")
	if len(got) != 1 || got[0] != begun {
		t.Fatalf("%d are doubtful, want the one that began in the first incarnation", len(got))
	}
	r.settle(begun, "second")
	if n := len(r.doubtful(1, "second")); n != 0 {
		t.Errorf("%d are doubtful after all were looked after, want none", n)
	}
	if n := len(r.doubtful(2, "second")); n != 1 {
		t.Errorf("%d are doubtful where nothing was known, want 1", n)
	}
}

func TestWithoutAnybodyWhoLooksOldSubmitsGoByThemselves(t *testing.T) {
	var r recent
	now := time.Unix(100, 0)
	for i := range 3 * 60 {
		k := r.begin(0)
		r.keep(k, 0, make([]byte, 100))
		r.add(&sent{at: now.Add(time.Duration(i) * time.Second), kept: k})
	}
	if n := len(r.sent); n != 61 || r.bytes != 61*100 {
		t.Errorf("%d submits with %d bytes are remembered, want those of a minute, 61", n, r.bytes)
	}
	for range mostSent + 10 {
		r.add(&sent{at: now.Add(3 * time.Minute)})
	}
	if n := len(r.sent); n != mostSent || r.bytes != 0 {
		t.Errorf("%d submits with %d bytes are remembered, want the newest %d", n, r.bytes, mostSent)
	}
}
