package server

import (
	"testing"

	"github.com/weirhq/weir/internal/service/access"
)

func TestStreamsWithOneKeyShareTheCheckOfIt(t *testing.T) {
	var all callers
	asked := 0
	ask := func() (access.Principal, error) { asked++; return access.Local(), nil }
	a, leaveA := all.join("k1")
	b, leaveB := all.join("k1")
	for _, c := range []*streamCaller{a, b, a} {
		if who, err := c.now(ask); err != nil || who.KeyID != "local" {
			t.Fatalf("%+v, %v", who, err)
		}
	}
	if asked != 1 {
		t.Errorf("two streams with a key asked %d times, want once", asked)
	}
	other, leaveOther := all.join("k2")
	if _, _ = other.now(ask); asked != 2 {
		t.Errorf("%d checks of two keys, want 2", asked)
	}
	for _, leave := range []func(){leaveA, leaveB, leaveOther} {
		leave()
	}
	if len(all.of) != 0 {
		t.Errorf("%d keys are held without a stream", len(all.of))
	}
}
