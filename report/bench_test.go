package report

import (
	"fmt"
	"testing"
)

func BenchmarkWriteDone(b *testing.B) {
	for _, f := range []Format{FormatCSV, FormatNDJSON} {
		b.Run(string(f), func(b *testing.B) { benchWrite(b, f, Row{State: StateDone}) })
	}
}

func BenchmarkWriteFailed(b *testing.B) {
	benchWrite(b, FormatCSV, Row{State: StateFailed, Step: "notify", Code: "bad_address", Message: "no such address: nobody@example.com"})
}

func benchWrite(b *testing.B, f Format, r Row) {
	const distinct = 1024
	rows := make([]Row, distinct)
	for i := range rows {
		rows[i] = r
		rows[i].ID = fmt.Sprintf("user-%08d", i)
		rows[i].Data = fmt.Appendf(nil, `{"user_id":"user-%08d","amount":%d,"country":"DE","email":"user%d@example.com","tier":"gold"}`, i, i%500, i)
		rows[i].Output = fmt.Appendf(nil, `{"reward_id":"r-%08d"}`, i)
	}
	w, err := NewWriter(b.TempDir(), f, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.Write(rows[i%distinct]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	if err := w.Abort(); err != nil {
		b.Fatal(err)
	}
}
