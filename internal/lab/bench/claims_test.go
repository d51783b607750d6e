package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestJudgeHoldsTheWorstAgainstTheTarget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claim  claim
		values []float64
		missed int
		want   []string // in the line
	}{
		{"at least: all reach it", claim{atLeast: 700_000}, []float64{900_000, 800_000}, 0, []string{"ok", "800,000", ">= 700,000", "800,000 to 900,000 of 2"}},
		{"at least: one is below", claim{atLeast: 700_000}, []float64{800_000, 699_999}, 1, []string{"MISS", "699,999"}},
		{"at most: the largest counts", claim{atMost: 2}, []float64{3, 1.5}, 1, []string{"MISS", "3", "<= 2"}},
		{"at most: all below", claim{atMost: 2}, []float64{1.5, 1}, 0, []string{"ok", "1.500"}},
		{"none: a single one is too many", claim{none: true}, []float64{1, 0}, 1, []string{"MISS"}},
		{"none: there was none", claim{none: true}, []float64{0, 0}, 0, []string{"ok"}},
		{"only told: the middle one", claim{}, []float64{9, 1, 5}, 0, []string{"5", "1 to 9 of 3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			b := &bench{out: &out}
			b.judge(tt.claim, tt.values...)
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("line %q has no %q", out.String(), want)
				}
			}
			if b.missed != tt.missed {
				t.Errorf("missed = %d, want %d", b.missed, tt.missed)
			}
		})
	}
}

func TestNumberIsForPeople(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0449: "0.045", 2: "2", 1.25: "1.250", 12.345: "12.3", 123.4: "123", 1234: "1,234", 12_345_678: "12,345,678",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}
