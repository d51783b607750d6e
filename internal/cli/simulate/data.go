package simulate

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/weirhq/weir/internal/lab/model"
)

// labelled is a result and what it is called in a comparison.
type labelled struct {
	label  string
	result model.Result
}

// seriesHead names the columns of the time series.
var seriesHead = []string{
	"second", "resource", "workers", "needed", "load", "ready", "in_flight", "started", "done", "failed", "refused",
	"rate", "concurrency", "breaker", "waiting", "reason",
}

// writeSeries writes every second of every resource as CSV; several results are
// told apart by a first column.
func writeSeries(w io.Writer, results ...labelled) error {
	out := csv.NewWriter(w)
	head := seriesHead
	if len(results) > 1 {
		head = append([]string{"system"}, head...)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, l := range results {
		for _, r := range l.result.Resources {
			for _, s := range r.Seconds {
				row := seriesRow(r.Name, s)
				if len(results) > 1 {
					row = append([]string{l.label}, row...)
				}
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func seriesRow(resource string, s model.Second) []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{
		strconv.Itoa(s.At), resource, strconv.Itoa(s.Workers), fmt.Sprintf("%.1f", s.Needed), strconv.Itoa(s.Load),
		strconv.Itoa(s.Ready), strconv.Itoa(s.InFlight), n(s.Started), n(s.Done), n(s.Failed), n(s.Refused),
		fmt.Sprintf("%.1f", s.Rate), strconv.Itoa(s.Concurrency), s.Breaker, s.Waiting, s.Reason,
	}
}
