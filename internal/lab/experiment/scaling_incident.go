package experiment

import "github.com/weirhq/weir/internal/core/scale"

const (
	breaksAt, healsAt = 200, 260 // seconds
	incidentRate      = 100      // tasks per second
)

// incidentModel returns a downstream that breaks for a minute: 50 ms become 5 s, and
// four of ten tasks fail.
func incidentModel() laneModel {
	return laneModel{
		config: scale.Config{Max: 400}, length: 500, workers: 8, rate: steadily(incidentRate),
		needed: steadily(incidentRate * 0.05 / 0.8),
		service: func(t float64, _ int) (float64, float64) {
			if t >= breaksAt && t < healsAt {
				return 5, 0.4
			}
			return 0.05, 0
		},
	}
}

func incidentShapes() []scalingShape {
	alone, told := incidentModel(), incidentModel()
	// Flow control takes some seconds to notice that it began and that it is over.
	told.strain = func(t float64) bool { return t >= breaksAt+5 && t < healsAt+5 }
	figures := []scalingFigure{
		figure("growth while it lasts, worst", 1, "x", growth(breaksAt, healsAt)),
		figure("full rate again after, worst", 30, " s", rateAgain(healsAt, incidentRate)),
		figure("backlog gone after, worst", 60, " s", calm(healsAt, incidentRate)),
		figure("reversals, worst", 5, "", reversals),
	}
	return []scalingShape{
		{"incident-alone", "incident 50 ms to 5 s, no flow control", alone, figures},
		{"incident", "incident 50 ms to 5 s", told, figures},
	}
}
