package main

import (
	"image/color"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
)

func TestTicksAreFewAndRound(t *testing.T) {
	for _, tt := range []struct {
		name string
		axis axis
		want []string
	}{
		{"workers", upTo("workers", 80), []string{"0", "20", "40", "60", "80"}},
		{"just below a hundred", upTo("workers", 98.75), []string{"0", "20", "40", "60", "80"}},
		{"a maximum that is not round", upTo("seconds", 1600), []string{"0", "500", "1,000", "1,500"}},
		{"powers of ten", axis{from: 20, to: 10_240, log: true}, []string{"100", "1,000", "10,000"}},
		{"names", axis{names: []string{"closed", "open"}}, []string{"closed", "open"}},
		{"a range that begins elsewhere", axis{from: -1, to: 5, every: 2}, []string{"0", "2", "4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, tick := range tt.axis.Ticks(0, 0) {
				got = append(got, tick.Label)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("ticks = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestThinKeepsCornersAndEnds(t *testing.T) {
	points := plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 1}, {X: 2, Y: 1}, {X: 3, Y: 5}, {X: 4, Y: 5}, {X: 5, Y: 5}}
	want := plotter.XYs{{X: 0, Y: 1}, {X: 2, Y: 1}, {X: 3, Y: 5}, {X: 5, Y: 5}}
	if got := thin(points); !slices.Equal(got, want) {
		t.Errorf("thin = %v, want %v", got, want)
	}
}

func TestSmoothIsTheMeanOfWhatWas(t *testing.T) {
	points := plotter.XYs{{X: 0, Y: 3}, {X: 1, Y: 5}, {X: 2, Y: 7}}
	want := plotter.XYs{{X: 0, Y: 3}, {X: 1, Y: 4}, {X: 2, Y: 6}}
	if got := smooth(points, 2); !slices.Equal(got, want) {
		t.Errorf("smooth = %v, want %v", got, want)
	}
}

func TestColoursAreApart(t *testing.T) {
	seen := map[color.Color]hue{}
	for h := ink; h <= rose; h++ {
		if other, twice := seen[h.color()]; twice {
			t.Errorf("hues %d and %d are the same colour", h, other)
		}
		seen[h.color()] = h
	}
}
