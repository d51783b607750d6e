package experiment

// All lists the experiments in the order of the design.
func All() []Experiment {
	return []Experiment{
		{ID: "E1", Name: "jobs under a low limit end on time", Run: everywhere(slowJobs)},
		{ID: "E2", Name: "a rate is used and never exceeded", Run: used},
		{ID: "E3", Name: "a rate is used by the clock on the wall", Run: usedForReal, Real: true},
		{ID: "E4", Name: "small bulk actions do not feel floods", Run: E4},
		{ID: "E5", Name: "an open system under high load", Run: E5},
		{ID: "E6", Name: "busy tenants advance together", Run: fair},
		{ID: "E7", Name: "tiers share by weight", Run: tiers},
		{ID: "E8", Name: "no tenant waits for ever", Run: aged},
		{ID: "E9", Name: "what fails for a moment is tried again", Run: everywhere(failures)},
		{ID: "E10", Name: "caps hold and cost nothing", Run: capped},
		{ID: "E11", Name: "slow tasks do not take all slots", Run: slow},
		{ID: "E12", Name: "sixteen owners share a limit", Run: shared},
		{ID: "E13", Name: "workers follow the load", Run: E13},
		{ID: "E14", Name: "flow control finds what a downstream takes", Run: E14},
		{ID: "E15", Name: "pause and resume of everything at once", Run: paused},
		{ID: "E17", Name: "a chain runs at the pace of its slowest step", Run: everywhere(longChain)},
		{ID: "E18", Name: "all tenants submit at once", Run: rush},
		{ID: "E19", Name: "tenants of all kinds share in the configuration that ships", Run: mixes},
		{ID: "E20", Name: "deadlines are met where they can be, and cost other tenants nothing", Run: deadlines},
		{ID: "E21", Name: "forecasts and ETAs come true", Run: foretell},
		{ID: "E22", Name: "the configuration that ships keeps what was shown for a part of it", Run: everywhere(
			bulkRates, smallBesideFloods, fourTiers, crowdedTiers, criticalBesideLow, weights, manyResources, hungEndpoint,
			slowCalls, slowFloods, skipping, notYet, outage, ownRate)},
		{ID: "#16", Name: "what a pick costs", Run: cost, Real: true},
	}
}
