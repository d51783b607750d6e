package source

import (
	"bytes"
	"fmt"
	"strconv"
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

// BenchmarkKeys measures how long one id takes on the way from 0 to n ids, growth included.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{100_000, 10_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			id := make([]byte, 0, 32)
			var k *Keys
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					k = NewKeys()
				}
				k.AddBytes(strconv.AppendInt(append(id[:0], "user-"...), int64(i), 10))
			}
			b.ReportMetric(float64(k.Bytes())/float64(k.Len()), "bytes/id")
		})
	}
}
