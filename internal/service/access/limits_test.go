package access

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestsOfAKeyAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(LimitOptions{Rate: 10, Burst: 30})
		for i := range 30 {
			if q, err := l.Request("key_a"); err != nil || q.Remaining != 29-i || q.Limit != 10 {
				t.Fatalf("request %d = %+v, %v", i, q, err)
			}
		}
		q, err := l.Request("key_a")
		limit, ok := errors.AsType[*LimitError](err)
		if !ok || limit.RetryAfter != time.Second || limit.Limit != 10 || q.Remaining != 0 || q.Full != 3*time.Second {
			t.Errorf("request beyond the burst = %+v, %v", q, err)
		}
		if want := "too many requests of this key: at most 10 in 1s; try again in 1s"; err.Error() != want {
			t.Errorf("error = %v, want %s", err, want)
		}
		if _, err := l.Request("key_b"); err != nil {
			t.Errorf("another key = %v", err)
		}
		granted := 0
		for range 10_000 { // 1,000 a second for ten seconds
			if _, err := l.Request("key_a"); err == nil {
				granted++
			}
			time.Sleep(time.Millisecond)
		}
		if granted < 99 || granted > 101 {
			t.Errorf("%d granted in ten seconds, want 100", granted)
		}
	})
}

func TestUploadsOfAKeyAreBounded(t *testing.T) {
	l := NewLimits(LimitOptions{Uploads: 2})
	first, err1 := l.Upload("key_a")
	_, err2 := l.Upload("key_a")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if _, err := l.Upload("key_a"); !isLimit(err) || err.Error() != "too many uploads of this key: at most 2 at once; try again in 1s" {
		t.Errorf("third upload = %v, want a limit", err)
	}
	if _, err := l.Upload("key_b"); err != nil {
		t.Errorf("upload of another key = %v", err)
	}
	first()
	first() // counts once
	if _, err := l.Upload("key_a"); err != nil {
		t.Errorf("upload after one has ended = %v", err)
	}
	if _, err := l.Upload("key_a"); !isLimit(err) {
		t.Errorf("one more = %v, want a limit", err)
	}
}

// Keys at rest are forgotten; those that have used something are not, however many come.
func TestKeysAtRestAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(LimitOptions{Rate: 1, Burst: 1, Uploads: 1})
		if _, err := l.Upload("key_long"); err != nil {
			t.Fatal(err)
		}
		for i := range 10 * sweepAt {
			if _, err := l.Request(fmt.Sprint("key_", i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(l.users); n > 2*sweepAt {
			t.Errorf("%d keys are remembered, want at most %d", n, 2*sweepAt)
		}
		if _, err := l.Upload("key_long"); !isLimit(err) {
			t.Errorf("second upload = %v, want a limit", err)
		}
		if _, err := l.Request(fmt.Sprint("key_", 10*sweepAt-1)); !isLimit(err) {
			t.Errorf("second request within a second = %v, want a limit", err)
		}
	})
}

func TestLimitsHaveDefaults(t *testing.T) {
	if got, want := (LimitOptions{}).withDefaults(), (LimitOptions{Rate: 100, Burst: 200, Uploads: 8}); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
}
