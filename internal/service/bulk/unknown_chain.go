package bulk

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
)

// UnknownChain returns why a bulk action cannot run here and what to do; empty: it can, or another
// node may know its chain.
func (s *Bulks) UnknownChain(b *engine.BulkAction) string {
	name, known := b.Chain()
	switch {
	case ofRun(b):
		return "started by weir run; continue with weir run --resume"
	case known:
		return ""
	case s.engine.Owns(b.ID()):
		return fmt.Sprintf("chain %q is not registered here; start the program that registers it", name)
	}
	return ""
}

// ofRun reports whether a bulk action belongs to a run of weir run that this process does not
// continue.
func ofRun(b *engine.BulkAction) bool { return chain.RunOf(b.Spec.Text) != "" && !b.Described() }

// refuseUnknown refuses to resume a bulk action that cannot run here.
func (s *Bulks) refuseUnknown(b *engine.BulkAction) error {
	why := s.UnknownChain(b)
	if why == "" {
		return nil
	}
	detail, fix, _ := strings.Cut(why, "; ")
	return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s cannot run on this server: %s", b.ID(), detail), Fix: fix}
}

// RefuseRetry refuses to retry a bulk action whose steps only the program that ran it has.
func RefuseRetry(b *engine.BulkAction) error {
	name, known := b.Chain()
	if known && !ofRun(b) {
		return nil
	}
	r := &check.Refusal{
		Code: "wrong_state", Detail: fmt.Sprintf("%s cannot be retried on this server: chain %q is not registered here", b.ID(), name),
		Fix: "retry it with the program that registers the chain",
	}
	if ofRun(b) {
		r.Detail = fmt.Sprintf("%s cannot be retried on this server: its steps belong to a weir run", b.ID())
		r.Fix = fmt.Sprintf("stop the server, and retry it with weir retry %s --data DIR", b.ID())
	}
	return r
}
