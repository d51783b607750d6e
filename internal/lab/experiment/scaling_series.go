package experiment

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/internal/core/scale"
)

// ScalingShapes lists the loads of [ScalingSeries].
func ScalingShapes() []string {
	var keys []string
	for _, s := range scalingShapes() {
		keys = append(keys, s.key)
	}
	return keys
}

// ScalingSeries returns what happens under one load of [ScalingShapes] and one policy
// of [scale.Names], second by second, with the chance of one seed.
func ScalingSeries(shape, policy string, seed uint64) (Lane, error) {
	p, err := scale.ByName(policy)
	if err != nil {
		return nil, err
	}
	for _, s := range scalingShapes() {
		if s.key == shape {
			s.model.policy = p
			return s.model.run(seed).Lane, nil
		}
	}
	return nil, fmt.Errorf("shape %q is not known: give one of %s", shape, strings.Join(ScalingShapes(), ", "))
}
