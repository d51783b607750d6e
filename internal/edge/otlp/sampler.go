package otlp

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/weirhq/weir"
)

// Sampler decides which bulk actions are traced. The zero value follows the trace that a submit belongs to, and traces
// those that belong to none.
type Sampler struct {
	alone bool   // whatever the trace of a submit says
	below uint64 // traces with a lower number are left out
	none  bool
}

// ParseSampler reads a sampler as OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name it. Empty: parentbased_always_on.
func ParseSampler(name, arg string) (s Sampler, err error) {
	ratio := 1.0
	switch name {
	case "", "parentbased_always_on":
		return s, nil
	case "parentbased_always_off":
		return Sampler{none: true}, nil
	case "always_on":
		return Sampler{alone: true}, nil
	case "always_off":
		return Sampler{alone: true, none: true}, nil
	case "parentbased_traceidratio":
	case "traceidratio":
		s.alone = true
	default:
		return s, fmt.Errorf("%q is not a sampler; write always_on, always_off, traceidratio, or one of these after parentbased_", name)
	}
	if arg != "" {
		if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return s, fmt.Errorf("%q is not a ratio between 0 and 1", arg)
		}
	}
	return s.ratio(ratio), nil
}

// Ratio returns a sampler that follows the trace of a submit, and traces a part of the submits that belong to none.
func Ratio(part float64) Sampler { return Sampler{}.ratio(part) }

// bits of the trace id decide, as the specification of W3C Trace Context has it: the last 56.
const bits = 56

func (s Sampler) ratio(part float64) Sampler {
	s.below, s.none = uint64(math.Round((1-part)*(1<<bits))), part <= 0
	return s
}

// Sample reports whether a bulk action is traced, by the id of its trace and the span that submits it.
func (s Sampler) Sample(trace [16]byte, parent weir.TraceContext) bool {
	if !s.alone && !parent.IsZero() {
		return parent.Sampled
	}
	return !s.none && binary.BigEndian.Uint64(trace[8:])&(1<<bits-1) >= s.below
}
