package source

import (
	"bytes"
	"fmt"
	"slices"
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
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("user-%09d", i)
		}
		fresh := make([]bool, 1024)
		fill := func() *Keys {
			k := NewKeys()
			for part := range slices.Chunk(ids, len(fresh)) {
				k.AddAll(part, fresh)
			}
			return k
		}
		full := fill()
		perID := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
			b.ReportMetric(float64(full.Bytes())/float64(full.Len()), "bytes/id")
		}
		b.Run(fmt.Sprintf("fill/%d", n), func(b *testing.B) {
			for b.Loop() {
				fill()
			}
			perID(b)
		})
		b.Run(fmt.Sprintf("fill one by one/%d", n), func(b *testing.B) {
			for b.Loop() {
				k := NewKeys()
				for _, id := range ids {
					k.Add(id)
				}
			}
			perID(b)
		})
		b.Run(fmt.Sprintf("known/%d", n), func(b *testing.B) {
			for b.Loop() {
				for part := range slices.Chunk(ids, len(fresh)) {
					full.AddAll(part, fresh)
				}
			}
			perID(b)
		})
	}
}
