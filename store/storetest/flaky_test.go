package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAFlakyStoreThatNeverFailsKeepsEveryPromise(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store {
		return &storetest.Flaky{
			Store: memstore.New(memstore.Options{}),
			Fail:  func(storetest.Call) storetest.Fault { return storetest.Fault{} },
		}
	})
}

func TestFlaky(t *testing.T) {
	errDown := errors.New("down")
	for _, tt := range []struct {
		name   string
		fault  storetest.Fault
		want   error
		number uint64 // afterwards
	}{
		{"no fault lets the call through", storetest.Fault{}, nil, 1},
		{"an error before the call keeps it from happening", storetest.Fault{Before: errDown}, errDown, 0},
		{"a lost answer leaves the effect", storetest.Fault{Lost: true}, store.ErrUnknown, 1},
		{"a delay is only a delay", storetest.Fault{Delay: time.Second}, nil, 1},
		{"a delay ends with the context", storetest.Fault{Delay: time.Hour}, context.DeadlineExceeded, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storetest.Flaky{Store: memstore.New(memstore.Options{}), Fail: func(c storetest.Call) storetest.Fault {
					if c == (storetest.Call{Op: storetest.OpCommit, Partition: 1}) {
						return tt.fault
					}
					return storetest.Fault{}
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				tok, err := s.Acquire(ctx, 1, "a", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Commit(ctx, 1, tok, &store.Batch{Number: 1}); !errors.Is(err, tt.want) {
					t.Errorf("Commit() = %v, want %v", err, tt.want)
				}
				if last, err := s.Last(t.Context(), 1); last.Number != tt.number || err != nil {
					t.Errorf("Last() = %+v, %v; want number %d", last, err, tt.number)
				}
			})
		})
	}
}
