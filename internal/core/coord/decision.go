package coord

import (
	"cmp"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
)

func decisionOf(now int64, n *news, sig *scale.Signals, d scale.Decision, policy string, shadow bool) weir.Decision {
	x := sig.Loads[0]
	return weir.Decision{
		Lane: n.lane.ID, At: time.Unix(0, now).UTC(), Policy: cmp.Or(policy, scale.Default), From: sig.Workers, To: d.Workers,
		Reason: string(d.Reason), Text: d.Text, Shadow: shadow, Inputs: weir.DecisionInputs{
			Workers: n.track.workers, Arrivals: x.Arrivals, Backlog: x.Backlog, InFlight: n.lane.InFlight, Usable: x.Usable,
			Service: x.Service, Ended: x.Samples, Failed: x.Failed, SlotWait: sig.SlotWait, Busy: sig.Busy,
			CPU: sig.CPU, Memory: sig.Memory, Strained: sig.Strained, Closed: x.Closed, Floor: sig.Floor,
			Need: d.Need, Useful: d.Useful,
		},
	}
}
