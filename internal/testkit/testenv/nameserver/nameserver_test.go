package nameserver_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/testenv/nameserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachQuestionGetsItsAnswer(t *testing.T) {
	s := &nameserver.Server{Answer: func(n int) [][4]byte { return [][4]byte{{192, 0, 2, byte(n)}} }}
	r := s.Resolver(t)
	for n := range 3 {
		got, err := r.LookupNetIP(t.Context(), "ip4", "any.example.net")
		if want := fmt.Sprintf("[192.0.2.%d]", n); err != nil || fmt.Sprint(got) != want {
			t.Errorf("question %d: %v, %v; want %s", n, got, err, want)
		}
	}
	if s.Asked() != 3 {
		t.Errorf("Asked() = %d, want 3", s.Asked())
	}
}

func TestANameThatLeadsNowhere(t *testing.T) {
	if got, err := nameserver.Always().Resolver(t).LookupNetIP(t.Context(), "ip4", "any.example.net"); err == nil {
		t.Errorf("a name without addresses leads to %v", got)
	}
}
