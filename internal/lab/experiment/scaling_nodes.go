package experiment

import "slices"

// nodeShapes are the step on nodes that are full from before it until second 300.
func nodeShapes() []scalingShape {
	const until = 300
	cpu, memory, choked := stepModel(), stepModel(), stepModel()
	full := func(t, share float64) float64 {
		if t >= 190 && t < until {
			return share
		}
		return 0.5
	}
	cpu.nodes = func(t float64) (float64, float64) { return full(t, 0.9), 0.5 }
	memory.nodes = func(t float64) (float64, float64) { return 0.5, full(t, 0.9) }
	choked.nodes = func(t float64) (float64, float64) { return full(t, 0.97), 0.5 }
	growth := scalingFigure{what: "growth while it lasts, worst", unit: "x", want: 1, measure: func(t laneTrace, _ uint64) float64 {
		return t.growth(200, until)
	}}
	return []scalingShape{
		{"cpu", "step 8x, CPU 90 % full", cpu, []scalingFigure{
			growth,
			{what: "90 % of the workers after, worst", unit: " s", want: 15, measure: func(t laneTrace, _ uint64) float64 {
				return t.reach(until, 0.9*stepNeeds)
			}},
		}},
		{"memory", "step 8x, memory 90 % full", memory, []scalingFigure{growth}},
		{"choked", "step 8x, CPU 97 % full", choked, []scalingFigure{
			{what: "workers left after a minute, worst", unit: "%", want: 50, measure: func(t laneTrace, _ uint64) float64 {
				return 100 * float64(t.workers[260]) / float64(t.workers[188])
			}},
		}},
	}
}

// leaderShapes have a leader that knows nothing take over: in mid-ramp, at full
// load and in the middle of the incident.
func leaderShapes() []scalingShape {
	const takeover = 1800
	ramp, full, broken := stepModel(), constantShape().model, incidentModel()
	ramp.newLeader, full.newLeader, broken.newLeader = 203, takeover, breaksAt+20
	full.length = takeover + 120
	return []scalingShape{
		{"leader-ramp", "step 8x, new leader in mid-ramp", ramp, []scalingFigure{
			{what: "90 % of the workers are there, worst", unit: " s", want: 15, measure: func(t laneTrace, _ uint64) float64 {
				return t.reach(200, 0.9*stepNeeds)
			}},
			{what: "overshoot, worst", unit: "%", want: 50, measure: overStep},
		}},
		{"leader-full", "constant 50/s, new leader", full, []scalingFigure{
			{what: "workers released within a minute, worst", unit: "%", want: 0, measure: func(t laneTrace, _ uint64) float64 {
				return 100 * (1 - float64(slices.Min(t.workers[takeover:takeover+60]))/float64(t.workers[takeover-2]))
			}},
			{what: "workers added within a minute, worst", unit: "%", want: 20, measure: func(t laneTrace, _ uint64) float64 {
				return 100 * (float64(slices.Max(t.workers[takeover:takeover+60]))/float64(t.workers[takeover-2]) - 1)
			}},
		}},
		{"leader-incident", "incident, no flow control, new leader", broken, []scalingFigure{
			{what: "growth while it lasts, worst", unit: "x", want: 1, measure: func(t laneTrace, _ uint64) float64 {
				return t.growth(breaksAt, healsAt)
			}},
		}},
	}
}
