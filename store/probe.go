package store

import (
	"context"
	"errors"
)

// Prober is a store that can be tried: whether it takes new work now, and gives
// for it what Durability says.
type Prober interface {
	// Probe writes what costs nothing, on the way that new work of a partition takes.
	Probe(ctx context.Context, partition int) error
}

// reasoned is an error that has a text without addresses, for those who may not know them.
type reasoned interface {
	error
	// Reason is empty if the error is no reason to send work elsewhere.
	Reason() string
}

// Reason says why a store takes no work, or not as it should: the texts that the
// errors in err have for those who may not know addresses. An error without one does not tell more than that
// the store does not answer. It is empty if nothing is wrong.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[reasoned](err); ok {
		return r.Reason()
	}
	if errors.Is(err, ErrFull) {
		return "the store is low on space: nothing new is accepted"
	}
	return "the store does not answer"
}
