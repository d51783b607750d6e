package service

import (
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir/internal/engine"
)

// unknownChain returns why a bulk action cannot run here and what to do; empty: it can, or another
// node may know its chain.
func (s *Service) unknownChain(b *engine.BulkAction) string {
	name, known := b.Chain()
	switch {
	case known:
		return ""
	case ofRun(name):
		return "started by weir run; continue with weir run --resume"
	case s.engine.Owns(b.ID()):
		return fmt.Sprintf("chain %q is not registered here; start the program that registers it", name)
	}
	return ""
}

// ofRun reports whether weir run named a chain: only weir run has its steps, in the data
// directory.
func ofRun(chain string) bool {
	id, ok := strings.CutPrefix(chain, "run-")
	_, err := ulid.ParseStrict(strings.ToUpper(id))
	return ok && err == nil
}

// refuseUnknown refuses to resume a bulk action that cannot run here.
func (s *Service) refuseUnknown(b *engine.BulkAction) error {
	why := s.unknownChain(b)
	if why == "" {
		return nil
	}
	detail, fix, _ := strings.Cut(why, "; ")
	return &Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s cannot run on this server: %s", b.ID(), detail), Fix: fix}
}

// refuseRetry refuses to retry a bulk action whose steps only the program that ran it has.
func refuseRetry(b *engine.BulkAction) error {
	name, known := b.Chain()
	if known {
		return nil
	}
	r := &Refusal{
		Code: "wrong_state", Detail: fmt.Sprintf("%s cannot be retried on this server: chain %q is not registered here", b.ID(), name),
		Fix: "retry it with the program that registers the chain",
	}
	if ofRun(name) {
		r.Detail = fmt.Sprintf("%s cannot be retried on this server: its steps belong to a weir run", b.ID())
		r.Fix = fmt.Sprintf("stop the server, and retry it with weir retry %s --data DIR", b.ID())
	}
	return r
}
