package block

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// userItems fills a builder with the kind of item that bulk actions mostly have.
func userItems(b *Builder) {
	rng := rand.New(rand.NewPCG(1, 2))
	countries := []string{"DE", "FR", "PT", "US", "BR", "IN"}
	for i := range Size {
		id := fmt.Sprintf("u%d", 123456+i)
		b.Add(id, fmt.Appendf(nil, `{"user_id":"%s","amount":%d,"country":"%s","email":"user%d@example.com"}`,
			id, 100+rng.IntN(900), countries[rng.IntN(len(countries))], 123456+i))
	}
}

// rewardItems fills a builder with documents of which a fifth is as random as addresses and codes are.
func rewardItems(b *Builder) {
	rng := rand.New(rand.NewPCG(1, 2))
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	random := func(n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = letters[rng.IntN(len(letters))]
		}
		return string(out)
	}
	for i := range Size {
		b.Add(fmt.Sprintf("user-%d", 700_000+i), fmt.Appendf(nil, `{"email":"%s@example.com","coupon":"%s","amount":%d,"lang":"en"}`,
			random(10), random(12), rng.IntN(100_000)))
	}
}

// randomItems fills a builder with items of which only the JSON around them repeats.
func randomItems(b *Builder) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range Size {
		id := fmt.Sprintf("%016x", rng.Uint64())
		b.Add(id, fmt.Appendf(nil, `{"id":"%s","token":"%016x%016x","score":%.6f}`,
			id, rng.Uint64(), rng.Uint64(), rng.Float64()))
	}
}

// kinds of items that are measured.
var samples = []struct {
	name string
	fill func(*Builder)
}{{"user", userItems}, {"reward", rewardItems}, {"random", randomItems}}

var levels = []struct {
	name  string
	level zstd.EncoderLevel
}{{"fastest", zstd.SpeedFastest}, {"default", zstd.SpeedDefault}}

// forEach runs f over samples and levels.
func forEach(b *testing.B, f func(b *testing.B, c *Codec, items *Builder)) {
	for _, s := range samples {
		for _, l := range levels {
			b.Run("items="+s.name+"/level="+l.name, func(b *testing.B) {
				c, err := newCodec(l.level)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				var items Builder
				s.fill(&items)
				b.SetBytes(int64(items.Bytes()))
				b.ReportAllocs()
				f(b, c, &items)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Size, "ns/item")
			})
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	forEach(b, func(b *testing.B, c *Codec, items *Builder) {
		var dst []byte
		for b.Loop() {
			items.Check(validJSON)
			dst = c.Seal(dst[:0], items)
		}
		b.ReportMetric(float64(len(dst))/Size, "bytes/item")
		b.ReportMetric(float64(items.Bytes())/Size, "plain-bytes/item")
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, s := range samples {
		b.Run("items="+s.name, func(b *testing.B) {
			var items Builder
			s.fill(&items)
			b.SetBytes(int64(items.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				items.Check(validJSON)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Size, "ns/item")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	forEach(b, func(b *testing.B, c *Codec, items *Builder) {
		items.Check(validJSON)
		raw := c.Seal(nil, items)
		for b.Loop() {
			if _, err := c.Open(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	c := newTestCodec(b)
	var from, to Builder
	userItems(&from)
	it, err := c.Open(c.Seal(nil, &from))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		to.Reset()
		for i := range it.Len() {
			to.Add(it.ID(i), it.Data(i))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Size, "ns/item")
}

// states of a block with two steps that are measured.
func benchStates() map[string]*State {
	done := &State{Size: Size, Passed: make([]Set, 2)}
	done.Passed[0].Fill(Size)
	done.Passed[1].Fill(Size)
	half := &State{Size: Size, Passed: make([]Set, 2)}
	half.Passed[0].Fill(700)
	odd := &State{Size: Size, Passed: make([]Set, 2)}
	odd.Passed[0].Fill(Size)
	rng := rand.New(rand.NewPCG(1, 2))
	for range Size / 50 { // 2% failed
		i := rng.IntN(Size)
		odd.Passed[0].Remove(i)
		odd.Failed.Add(i)
	}
	return map[string]*State{"done": done, "half": half, "2%failed": odd}
}

func BenchmarkStateAppend(b *testing.B) {
	for name, s := range benchStates() {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = s.Append(dst[:0])
			}
			b.ReportMetric(float64(len(dst)), "bytes/block")
			b.ReportMetric(float64(len(dst))/Size, "bytes/item")
		})
	}
}

func BenchmarkStateDecode(b *testing.B) {
	for name, s := range benchStates() {
		b.Run(name, func(b *testing.B) {
			raw := s.Append(nil)
			var got State
			b.ReportAllocs()
			for b.Loop() {
				if err := got.Decode(raw, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSetTake(b *testing.B) {
	var full Set
	full.Fill(Size)
	dst := make([]uint16, 0, 100)
	for b.Loop() {
		s := full
		for !s.Empty() {
			dst = s.Take(dst[:0], 100)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Size, "ns/item")
}

// benchResults are the answers of a batch of 100: outputs, or failures with a text each.
func benchResults() map[string][]Result {
	outputs, failures := make([]Result, 100), make([]Result, 100)
	for i := range 100 {
		outputs[i] = Result{
			Item: uint16(i), Attempts: 1, Kind: Output,
			Output: fmt.Appendf(nil, `{"message_id":"msg_%08x"}`, i*2654435761),
		}
		failures[i] = Result{
			Item: uint16(i), Attempts: 1, Kind: Failure, Code: "not_found",
			Message: fmt.Sprintf("user u%d not found", i),
		}
	}
	return map[string][]Result{"outputs": outputs, "failures": failures}
}

func BenchmarkSealResults(b *testing.B) {
	c := newTestCodec(b)
	for name, rs := range benchResults() {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = c.SealResults(dst[:0], 1, rs)
			}
			b.ReportMetric(float64(len(dst))/100, "bytes/item")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/item")
		})
	}
}

func BenchmarkEachResult(b *testing.B) {
	c := newTestCodec(b)
	for name, rs := range benchResults() {
		b.Run(name, func(b *testing.B) {
			raw := c.SealResults(nil, 1, rs)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.EachResult(raw, func(Result) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/item")
		})
	}
}
