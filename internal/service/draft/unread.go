package draft

import (
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/stored"
)

// CodeSourceUnavailable is the code of a source that cannot be reached or does not answer now.
const CodeSourceUnavailable = "source_unavailable"

// Unread returns the error of a request that waits for a source and cannot read it, at the field that names the source. An
// import tries again instead; the person behind a request has to know why, because a wrong address looks the same.
func Unread(src *stored.Source, err error) error {
	var forever *feed.PermanentError
	var later *feed.TransientError
	switch {
	case errors.As(err, &forever):
		return &weir.FieldError{Code: "bad_source", Field: "source", Problem: forever.Error(), Fix: "correct the source"}
	case errors.As(err, &later):
		return &weir.FieldError{Code: CodeSourceUnavailable, Field: placeOfSource(src), Problem: later.Plainly(),
			Fix: "check the address; if it is right, try again when the source answers"}
	}
	return err
}

// placeOfSource returns the field that says where a source is.
func placeOfSource(src *stored.Source) string {
	switch {
	case src.Segment != nil && src.Segment.Connection == "":
		return "source.segment.url"
	case src.Segment != nil:
		return "source.segment.connection"
	case src.Postgres != nil:
		return "source.postgres.connection"
	case src.Object != nil:
		return "source.object.connection"
	case src.Kafka != nil:
		return "source.kafka.connection"
	}
	return "source"
}
