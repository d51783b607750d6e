package route

import "testing"

func BenchmarkAssign(b *testing.B) {
	partitions, nodes := numbers(256), equalNodes(16)
	held := Assign(partitions, nodes, nil)
	b.Run("nothing held", func(b *testing.B) {
		for b.Loop() {
			Assign(partitions, nodes, nil)
		}
	})
	b.Run("all held", func(b *testing.B) {
		for b.Loop() {
			Assign(partitions, nodes, held)
		}
	})
}

func BenchmarkNewTable(b *testing.B) {
	for b.Loop() {
		NewTable(256)
	}
}

func BenchmarkCandidates(b *testing.B) {
	table := NewTable(256)
	b.ReportAllocs()
	for b.Loop() {
		table.Candidates("tenant-4711-of-average-name-length")
	}
}

func BenchmarkKeyed(b *testing.B) {
	table := NewTable(256)
	b.ReportAllocs()
	for b.Loop() {
		table.Keyed("tenant-4711", "4e1c7f4a-0b1e-4c37-8c1f-1d2f3c4b5a69")
	}
}

func BenchmarkShards(b *testing.B) {
	for b.Loop() {
		Shards("tenant-4711", 3, 256, 64)
	}
}

func TestRoutingAllocatesNothing(t *testing.T) {
	table := NewTable(16)
	if n := testing.AllocsPerRun(100, func() {
		table.Candidates("acme")
		table.Keyed("acme", "key")
	}); n != 0 {
		t.Errorf("routing a bulk action allocates %v times, want 0", n)
	}
}
