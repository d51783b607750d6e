package series

import (
	"math"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/series"
)

// precise is how exactly means are shown.
const precise = 1000

// column returns a column as responses show it.
func column(s *series.Series, c int) api.Column {
	out := make(api.Column, s.Len())
	for i, v := range s.Columns[c] {
		if series.Known(v) {
			v = math.Round(v*precise) / precise
			out[i] = &v
		}
	}
	return out
}

func timeline(s *series.Series, end time.Time) api.Timeline {
	return api.Timeline{Start: s.Start.UTC(), Step: api.Duration(s.Step), End: end.UTC(), Points: s.Len()}
}

func viewFleet(s *series.Series, resource string) api.Series {
	return api.Series{
		Timeline: timeline(s, s.At(s.Len())), Resource: resource,
		Done: column(s, done), Failed: column(s, failed), Cancelled: column(s, cancelled), Retries: column(s, retries),
		Refused: column(s, refused), Calls: column(s, calls),
		AllowedRate: column(s, allowedRate), InFlight: column(s, inFlight), AllowedInFlight: column(s, allowedInFlight),
		Workers: column(s, workers), NeededWorkers: column(s, neededWorkers), Ready: column(s, ready),
		OldestReady: column(s, oldestReady),
	}
}

func viewBulk(s *series.Series, end time.Time) api.BulkSeries {
	return api.BulkSeries{
		Timeline: timeline(s, end),
		Done:     column(s, done), Failed: column(s, failed), Cancelled: column(s, cancelled), Retries: column(s, retries),
		Refused: column(s, refused), Calls: column(s, calls),
		AllowedRate: column(s, allowedRate), InFlight: column(s, inFlight),
	}
}
