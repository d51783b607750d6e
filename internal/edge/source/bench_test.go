package source

import (
	"bytes"
	"fmt"
	"iter"
	"testing"
)

func BenchmarkNDJSON(b *testing.B) {
	benchItems(b, NDJSON, "", "", func(buf *bytes.Buffer, i int) {
		fmt.Fprintf(buf, `{"user_id":"user-%08d","amount":%d,"country":"DE","email":"user%d@example.com","tier":"gold"}`+"\n", i, i%500, i)
	})
}

func BenchmarkCSV(b *testing.B) {
	benchItems(b, CSV, "user_id,amount,country,email,tier\n", "", func(buf *bytes.Buffer, i int) {
		fmt.Fprintf(buf, "user-%08d,%d,DE,user%d@example.com,gold\n", i, i%500, i)
	})
}

func BenchmarkCSVQuoted(b *testing.B) {
	benchItems(b, CSV, "user_id,amount,country,email,tier\n", "", func(buf *bytes.Buffer, i int) {
		fmt.Fprintf(buf, "\"user-%08d\",\"%d\",\"DE\",\"user \"\"%d\"\" @example.com\",\"gold\"\n", i, i%500, i)
	})
}

func BenchmarkJSONArray(b *testing.B) {
	benchItems(b, JSON, "[\n", `{"user_id":"last"}]`, func(buf *bytes.Buffer, i int) {
		fmt.Fprintf(buf, `{"user_id":"user-%08d","amount":%d,"country":"DE","email":"user%d@example.com","tier":"gold"},`+"\n", i, i%500, i)
	})
}

func benchItems(b *testing.B, f Format, head, tail string, row func(*bytes.Buffer, int)) {
	const rows = 50_000
	var buf bytes.Buffer
	buf.WriteString(head)
	for i := range rows {
		row(&buf, i)
	}
	buf.WriteString(tail)
	b.SetBytes(int64(buf.Len() / rows))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		r, err := Open(bytes.NewReader(buf.Bytes()), "bench", Options{Format: f})
		if err != nil {
			b.Fatal(err)
		}
		for it, err := range r.Items() {
			if err != nil || it.ID == "" {
				b.Fatal(it, err)
			}
			if n++; n >= b.N {
				break
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkKeys measures what one id costs on the way from 0 to n ids, growth included, and then in a set of n.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		k := NewKeys()
		ids := idBlocks(n)
		run := func(name string, add func(ids []string)) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if name != "known" {
						k = NewKeys()
					}
					for block := range ids {
						add(block)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
				b.ReportMetric(float64(k.Bytes())/float64(k.Len()), "bytes/id")
			})
		}
		fresh := make([]bool, 1024)
		run("fill one by one", func(ids []string) {
			for _, id := range ids {
				k.Add(id)
			}
		})
		run("fill", func(ids []string) { k.AddAll(ids, fresh) })
		run("known", func(ids []string) { k.AddAll(ids, fresh) })
	}
}

// idBlocks gives n ids in blocks, without a pointer per id that the collector would have to follow.
func idBlocks(n int) iter.Seq[[]string] {
	const width = len("user-000000000")
	var all []byte
	for i := range n {
		all = fmt.Appendf(all, "user-%09d", i)
	}
	text := string(all)
	return func(yield func([]string) bool) {
		block := make([]string, 0, 1024)
		for at := 0; at < len(text); at += width {
			if block = append(block, text[at:at+width]); len(block) == cap(block) || at+width == len(text) {
				if !yield(block) {
					return
				}
				block = block[:0]
			}
		}
	}
}
