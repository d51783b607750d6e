package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/edge/execute"
)

// The rule by which failed items are called unclear is that by which the core calls waiting items so, for an item's
// message and for that of its group.
func TestFailedItemsAreUnclearAsWaitingOnesAre(t *testing.T) {
	for _, err := range []error{
		&execute.CallError{Code: execute.CodeTimeout, Err: errors.New("no answer within 3s")},
		fmt.Errorf("charge 17: %w", context.DeadlineExceeded),
		&execute.CallError{Code: execute.CodeUnreachable, Err: io.ErrUnexpectedEOF},
		&execute.CallError{Code: execute.CodeUnreachable, Err: &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}},
		&execute.CallError{Code: execute.CodeUnreachable, Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, Err: errors.New("connection refused")}},
		&execute.CallError{Code: execute.CodeServerError, Status: 502, Err: errors.New("502 Bad Gateway")},
		&execute.CallError{Code: execute.CodeBadAnswer, Status: 200, Err: errors.New("answered HTML where JSON was expected")},
		&execute.CallError{Code: execute.CodeTooLarge, Status: 413, Err: errors.New("413 Request Entity Too Large")},
		&execute.CallError{Code: execute.CodeCancelled, Err: context.Canceled},
		fmt.Errorf("charge 17: %w", context.Canceled),
		&execute.PanicError{Text: "index out of range"},
		&weir.HandlerBug{Err: errors.New("1 outcomes for 2 items")},
		errors.New("connection reset after the request was sent"),
	} {
		f := failureOf(err)
		group := string(fault.AppendNormal(nil, f.Message))
		if got, ofGroup := fault.Unclear(f.Code, f.Message), fault.Unclear(f.Code, group); got == f.Undone || ofGroup != got {
			t.Errorf("%s %q: unclear = %t, its group %q = %t, want %t", f.Code, f.Message, got, group, ofGroup, !f.Undone)
		}
	}
}
