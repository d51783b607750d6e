package model

import "time"

// Worlds returns the built-in scenarios, each of which shows one thing.
func Worlds() []World {
	return []World{article(), incident(), flood(), step8()}
}

// ByName finds a built-in scenario.
func ByName(name string) (World, bool) {
	for _, w := range Worlds() {
		if w.Name == name {
			return w, true
		}
	}
	return World{}, false
}

func article() World {
	return World{
		Name: "article", About: "100,000 items in calls of 100 that take 12 s each; 8 workers at first, at most 64",
		Nodes:   []Node{{Slots: 64}},
		Workers: Workers{Start: 8, Max: 64},
		Resources: []Resource{{
			Name: "send-message", Timeout: span(time.Minute),
			Downstream: Downstream{Latency: span(12 * time.Second), P99: span(18 * time.Second)},
		}},
		BulkActions: []BulkAction{{Name: "campaign", Items: 100_000, Steps: []string{"send-message"}}},
	}
}

func incident() World {
	quick := Downstream{Latency: span(20 * time.Millisecond), P99: span(50 * time.Millisecond)}
	broken := quick
	broken.Incidents = []Incident{{
		From: span(time.Minute), For: span(2 * time.Minute),
		Latency: span(1500 * time.Millisecond), P99: span(5 * time.Second), Failures: 0.6,
	}}
	return World{
		Name: "incident", About: "push slows down from 50 ms to 5 s and fails for two minutes; mail beside it does not",
		Length:  span(10 * time.Minute),
		Nodes:   []Node{{Slots: 128}},
		Workers: Workers{Start: 8, Max: 64},
		Resources: []Resource{
			{Name: "push", Rate: 1000, Downstream: broken},
			{Name: "mail", Rate: 1000, Downstream: quick},
		},
		BulkActions: []BulkAction{
			{Name: "push-news", Spread: 20, Arrivals: 6, Items: 100, Steps: []string{"push"}},
			{Name: "mail-news", Spread: 20, Arrivals: 6, Items: 100, Steps: []string{"mail"}},
		},
	}
}

func flood() World {
	return World{
		Name: "flood", About: "a million items of one tenant, and the small bulk actions of fifty others beside them",
		Nodes:   []Node{{Slots: 64}},
		Workers: Workers{Start: 8, Max: 64},
		Resources: []Resource{{
			Name: "send-message", Rate: 10_000,
			Downstream: Downstream{Latency: span(100 * time.Millisecond), P99: span(250 * time.Millisecond)},
		}},
		BulkActions: []BulkAction{
			{Name: "million", Tenant: "flood", At: span(10 * time.Second), Items: 1_000_000, Steps: []string{"send-message"}},
			{Name: "small", Spread: 50, Arrivals: 4, Until: span(2 * time.Minute), Items: 200, ItemsP99: 1000,
				Steps: []string{"send-message"}},
		},
	}
}

func step8() World {
	return World{
		Name: "step", About: "eight times the load of one lane from one second to the next, and back five minutes later",
		Length:  span(12 * time.Minute),
		Nodes:   []Node{{Slots: 128}},
		Workers: Workers{Start: 8, Max: 128}, Partitions: 1, // the law of one lane: eight lanes have 64 workers at least
		Resources: []Resource{{
			Name: "send-message", Downstream: Downstream{Latency: span(500 * time.Millisecond), P99: span(1500 * time.Millisecond)},
		}},
		BulkActions: []BulkAction{
			{Name: "usual", Spread: 20, Arrivals: 10, Items: 100, Steps: []string{"send-message"}},
			{Name: "rush", Spread: 20, At: span(2 * time.Minute), Until: span(7 * time.Minute), Arrivals: 70, Items: 100,
				Steps: []string{"send-message"}},
		},
	}
}

func span(d time.Duration) Span { return Span(d) }
