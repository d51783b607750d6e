package forecast

import (
	"slices"
	"testing"
	"time"
)

func TestARangeIsAsWideAsTheSpeedVaried(t *testing.T) {
	steps := func(speeds ...float64) (all []float64) { // each for five steps
		for _, v := range speeds {
			all = append(all, v, v, v, v, v)
		}
		return all
	}
	const left = 100 * time.Second
	work := Work{Tenant: "a", Items: 1000, Steps: on("mail")}
	beside := func(o Work) []Work { return []Work{o} }
	for _, tt := range []struct {
		name     string
		speeds   []float64
		others   []Work
		from, to time.Duration
	}{
		{"an even speed says nothing more", steps(300, 301, 299, 300, 300, 300), nil, 0, 0},
		{"calls that end in lumps are an even speed", slices.Repeat([]float64{0, 600}, 18), nil, 0, 0},
		{"the past is too short", []float64{300, 100}, nil, 0, 0},
		{"at the speed of the slowest and of the fastest minute", steps(100, 100, 80, 100, 120, 100), nil, 83333 * ms, 125 * time.Second},
		{"an outage bounds nothing, and at most twice as long is told", steps(100, 100, 0, 0, 100, 100), nil, 66667 * ms, 200 * time.Second},
		{"nothing ended yet", steps(0, 0, 0, 0, 0, 0), nil, 0, 0},
		{"other work of the tenant may go before or after", nil, beside(Work{Tenant: "a", Items: 2000, Steps: on("mail")}),
			75 * time.Second, 125 * time.Second},
		{"less work of the tenant has had its turns by then", nil, beside(Work{Tenant: "a", Items: 250, Steps: on("mail")}), 90 * time.Second, left},
		{"work of another tenant has its own share", nil, beside(Work{Tenant: "b", Items: 2000, Steps: on("mail")}), 0, 0},
		{"on another resource", nil, beside(Work{Tenant: "a", Items: 2000, Steps: on("push")}), 0, 0},
		{"later", nil, beside(Work{Tenant: "a", Items: 2000, Steps: on("mail"), Delay: time.Minute}), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := Range(left, tt.speeds, &work, &Load{Others: tt.others})
			if from.Round(ms) != tt.from || to.Round(ms) != tt.to {
				t.Errorf("from %v to %v, want %v to %v", from, to, tt.from, tt.to)
			}
		})
	}
}
