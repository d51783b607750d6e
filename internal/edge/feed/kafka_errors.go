package feed

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// explain distinguishes permanent errors from transient ones.
func (f *kafka) explain(ctx context.Context, err error) error {
	var lost *kgo.ErrDataLoss
	var e *kerr.Error
	switch {
	case ctx.Err() != nil || known(err) || !errors.As(err, &e) && !errors.As(err, &lost):
		return unreachable(ctx, "read from Kafka", err)
	case lost != nil, e == kerr.OffsetOutOfRange:
		return permanent(CodeRemoved, "the topic lost records before they were read",
			"keep records for longer, or start at an offset that is there", err)
	case e == kerr.UnknownTopicOrPartition, e == kerr.UnknownTopicID:
		return permanent(CodeNotFound, "no such topic or partition", "check topic and offsets", err)
	case e.Retriable:
		return transient(ctx, "read from Kafka", err)
	}
	return permanent(CodeRefused, "Kafka refuses to have the topic read", "check the connection and its rights", err)
}
