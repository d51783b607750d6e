package store

import (
	"context"
	"errors"
)

// Prober is a store that can be probed: whether it accepts new work now, with what Durability
// promises.
type Prober interface {
	// Probe writes something that costs nothing, by the path that new work of a partition
	// takes.
	Probe(ctx context.Context, partition int) error
}

// reasoned is an error with a text that is safe to show: it contains no addresses.
type reasoned interface {
	error
	// Reason returns an empty string if the error does not justify sending work elsewhere.
	Reason() string
}

// Reason returns why a store accepts no work, or not as it should: the texts without addresses
// of the errors in err. For an error without such a text it only says that the store does not
// answer. It is empty if nothing is wrong.
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
