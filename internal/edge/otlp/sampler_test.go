package otlp_test

import (
	"math/rand/v2"
	"testing"

	"encoding/binary"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/otlp"
)

func TestASamplerFollowsItsParentOrNot(t *testing.T) {
	yes := weir.TraceContext{Trace: [16]byte{1}, Span: [8]byte{1}, Sampled: true}
	no := yes
	no.Sampled = false
	for _, tt := range []struct {
		name, arg                    string
		alone, sampledToo, unsampled bool
	}{
		{"", "", true, true, false},
		{"parentbased_always_on", "", true, true, false},
		{"parentbased_always_off", "", false, true, false},
		{"always_on", "", true, true, true},
		{"always_off", "", false, false, false},
		{"traceidratio", "0", false, false, false},
		{"traceidratio", "1", true, true, true},
		{"traceidratio", "", true, true, true},
		{"parentbased_traceidratio", "0", false, true, false},
	} {
		s, err := otlp.ParseSampler(tt.name, tt.arg)
		if err != nil {
			t.Fatal(err)
		}
		got := [...]bool{s.Sample(yes.Trace, weir.TraceContext{}), s.Sample(yes.Trace, yes), s.Sample(yes.Trace, no)}
		if want := [...]bool{tt.alone, tt.sampledToo, tt.unsampled}; got != want {
			t.Errorf("%s %s: without a parent, with one that is sampled, with one that is not: %v, want %v", tt.name, tt.arg, got, want)
		}
	}
}

func TestARatioSamplesThatPart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, sampled := otlp.Ratio(0.25), 0
	for range 10_000 {
		var id [16]byte
		binary.BigEndian.PutUint64(id[8:], random.Uint64())
		if s.Sample(id, weir.TraceContext{}) {
			sampled++
		}
	}
	if sampled < 2300 || sampled > 2700 {
		t.Errorf("%d of 10,000 are sampled, want about 2,500", sampled)
	}
}

func TestASamplerThatIsNone(t *testing.T) {
	for _, tt := range [][2]string{{"jaeger_remote", ""}, {"traceidratio", "2"}, {"traceidratio", "half"}, {"traceidratio", "NaN"}} {
		if _, err := otlp.ParseSampler(tt[0], tt[1]); err == nil {
			t.Errorf("ParseSampler(%q, %q) = no error", tt[0], tt[1])
		}
	}
}
