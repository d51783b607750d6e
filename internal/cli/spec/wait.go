package spec

import (
	"context"
	"time"
)

// OrEnd does something that may hang in a read which nothing can end, and stops waiting for it soon after ctx ends.
func OrEnd(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	return WhatNow(done, ctx.Err(), Patience/3)
}

// Patience limits how long an interrupted submit may take to end.
const Patience = time.Second

// WhatNow is how a submit ended that was interrupted with err: nil if the items
// were accepted all the same. One that hangs in a read is not waited for: its
// input has not ended, so nothing can be accepted.
func WhatNow(done <-chan error, err error, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case ended := <-done:
		if ended == nil {
			return nil
		}
	case <-timer.C:
	}
	return err
}
