package run

import (
	"context"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/cli/spec"
)

func TestAnInterruptDoesNotForgetWhatWasAccepted(t *testing.T) {
	ended, hangs := make(chan error, 1), make(chan error)
	ended <- nil
	if err := spec.WhatNow(ended, errReading(), time.Minute); err != nil {
		t.Errorf("after a submit that came through: %v, want nil", err)
	}
	ended <- context.Canceled
	if err := spec.WhatNow(ended, errReading(), time.Minute); !interrupted(err) {
		t.Errorf("after a submit that was cancelled: %v, want the interrupt", err)
	}
	if err := spec.WhatNow(hangs, errReading(), time.Millisecond); !interrupted(err) {
		t.Errorf("while the input hangs: %v, want the interrupt", err)
	}
}
