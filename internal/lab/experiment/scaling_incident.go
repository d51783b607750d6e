package experiment

import "github.com/weirhq/weir/internal/core/scale"

const (
	breaksAt, healsAt = 200, 260 // seconds
	incidentRate      = 100      // tasks per second
)

// incidentModel is a downstream that breaks for a minute: 50 ms become 5 s, and
// four of ten tasks fail.
func incidentModel() laneModel {
	return laneModel{
		config: scale.Config{Max: 400}, length: 500, workers: 8, rate: steadily(incidentRate), needed: steadily(incidentRate * 0.05 / 0.8),
		service: func(t float64, _ int) (float64, float64) {
			if t >= breaksAt && t < healsAt {
				return 5, 0.4
			}
			return 0.05, 0
		},
	}
}

// noticed is what flow control says of the incident: it takes some seconds to
// notice that it began and that it is over.
func noticed(t float64) bool { return t >= breaksAt+5 && t < healsAt+5 }

func incidentShapes() []scalingShape {
	alone, told := incidentModel(), incidentModel()
	told.strain = noticed
	figures := []scalingFigure{
		{what: "growth while it lasts, worst", unit: "x", want: 1, measure: func(t laneTrace, _ uint64) float64 {
			return t.growth(breaksAt, healsAt)
		}},
		{what: "full rate again after, worst", unit: " s", want: 30, measure: func(t laneTrace, _ uint64) float64 {
			return t.rateAgain(healsAt, incidentRate)
		}},
		{what: "backlog gone after, worst", unit: " s", want: 60, measure: func(t laneTrace, _ uint64) float64 {
			return t.calm(healsAt, incidentRate)
		}},
		{what: "reversals, worst", want: 5, measure: reversalsOf},
	}
	return []scalingShape{
		{"incident-alone", "incident 50 ms to 5 s, no flow control", alone, figures},
		{"incident", "incident 50 ms to 5 s", told, figures},
	}
}
