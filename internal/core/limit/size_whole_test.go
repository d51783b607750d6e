package limit

import "testing"

// A node that may have three of ten tasks in flight has tasks as large as all nodes need
// together, and not larger: a window of its part of the rate must hold several of them.
func TestTasksOfNodesThatShareAConcurrency(t *testing.T) {
	whole := Whole{Rate: 300, InFlight: 10}
	alone := Size{Rate: 300, Latency: 0.5, InFlight: 10, Grain: 3}.Items(100)
	for _, tt := range []struct {
		name string
		size Size
		want int
	}{
		{"a third of the rate", Size{Rate: 100, Latency: 0.5, InFlight: 3, Grain: 3, Whole: whole}, alone},
		{"its slots have gone elsewhere for a moment", Size{Rate: 100, Latency: 0.5, InFlight: 1, Grain: 3, Whole: whole}, alone},
		{"a second of its rate has less", Size{Rate: 12, Latency: 0.5, InFlight: 1, Grain: 3, Whole: whole}, 12},
		{"calls are quick", Size{Rate: 100, Latency: 0.01, InFlight: 3, Grain: 3, Whole: whole}, 3},
	} {
		if got := tt.size.Items(100); got != tt.want {
			t.Errorf("%s: %d items, want %d", tt.name, got, tt.want)
		}
	}
}
