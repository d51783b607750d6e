package telemetry

import (
	"maps"
	"math"
	"testing"
)

func TestFairnessIsJainsIndexOfTheSharesThatTenantsGet(t *testing.T) {
	get := func(entitled, actual float64) Share {
		return Share{Resource: "mail", Entitled: entitled, Actual: actual, Ready: 1}
	}
	idle := Share{Resource: "mail", Entitled: 0.5}
	for _, tt := range []struct {
		name   string
		shares []Share
		want   map[string]float64
	}{
		{"each gets its share, whatever its weight", []Share{get(0.75, 0.75), get(0.25, 0.25)}, map[string]float64{"mail": 1}},
		{"one gets everything", []Share{get(0.25, 1), get(0.25, 0), get(0.25, 0), get(0.25, 0)}, map[string]float64{"mail": 0.25}},
		{"one gets three times as much", []Share{get(0.5, 0.75), get(0.5, 0.25)}, map[string]float64{"mail": 0.8}},
		{"one competes alone", []Share{get(0.5, 1), idle}, map[string]float64{"mail": 1}},
		{"nothing runs", []Share{get(0.5, 0), get(0.5, 0)}, map[string]float64{}},
		{"there is no work", nil, map[string]float64{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fairness(tt.shares); !maps.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
				t.Errorf("Fairness = %v, want %v", got, tt.want)
			}
		})
	}
}
