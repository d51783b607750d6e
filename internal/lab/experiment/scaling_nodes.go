package experiment

// nodeShapes returns the step on nodes that are full from before it until second 300.
func nodeShapes() []scalingShape {
	const until = 300
	cpu, memory, choked := stepModel(), stepModel(), stepModel()
	full := func(share float64) func(float64) float64 { return during(190, until, share, 0.5) }
	cpu.nodes = func(t float64) (float64, float64) { return full(0.9)(t), 0.5 }
	memory.nodes = func(t float64) (float64, float64) { return 0.5, full(0.9)(t) }
	choked.nodes = func(t float64) (float64, float64) { return full(0.97)(t), 0.5 }
	growth := figure("growth while it lasts, worst", 1, "x", growth(200, until))
	return []scalingShape{
		{"cpu", "step 8x, CPU 90 % full", cpu, []scalingFigure{
			growth,
			figure("90 % of the workers after, worst", 15, " s", reach(until, 0.9*stepNeeds)),
		}},
		{"memory", "step 8x, memory 90 % full", memory, []scalingFigure{growth}},
		{"choked", "step 8x, CPU 97 % full", choked, []scalingFigure{
			figure("workers left after a minute, worst", 50, "%", func(t laneTrace) float64 {
				return 100 * float64(t.Lane[260].Workers) / float64(t.Lane[188].Workers)
			}),
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
			figure("90 % of the workers are there, worst", 15, " s", reach(200, 0.9*stepNeeds)),
			figure("overshoot, worst", 50, "%", overStep),
		}},
		{"leader-full", "constant 50/s, new leader", full, []scalingFigure{
			figure("workers released within a minute, worst", 0, "%", func(t laneTrace) float64 {
				return 100 * (1 - float64(t.Least(takeover, takeover+60))/float64(t.Lane[takeover-2].Workers))
			}),
			figure("workers added within a minute, worst", 20, "%", func(t laneTrace) float64 {
				return 100 * (float64(t.Most(takeover, takeover+60))/float64(t.Lane[takeover-2].Workers) - 1)
			}),
		}},
		{"leader-incident", "incident, no flow control, new leader", broken, []scalingFigure{
			figure("growth while it lasts, worst", 1, "x", growth(breaksAt, healsAt)),
		}},
	}
}
