package storetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestALostAnswerAboutALimitLeavesTheEffect(t *testing.T) {
	var lost storetest.Op
	s := &storetest.Flaky{Store: memstore.New(memstore.Options{}), Fail: func(c storetest.Call) storetest.Fault {
		return storetest.Fault{Lost: c == storetest.Call{Op: lost, Partition: store.Control}}
	}}
	l := store.Limit{Resource: "mail", Units: 10, Window: time.Hour}
	for _, op := range []storetest.Op{storetest.OpSetTargets, storetest.OpHold, storetest.OpDraw, storetest.OpHoldings} {
		lost = op
		aimed := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 4})
		quota, held := s.Hold(t.Context(), l, store.Holding{Node: "a"}, time.Hour)
		_, ok, drew := s.Draw(t.Context(), l, 1)
		list, listed := s.Holdings(t.Context(), l)
		for got, err := range map[storetest.Op]error{
			storetest.OpSetTargets: aimed, storetest.OpHold: held, storetest.OpDraw: drew, storetest.OpHoldings: listed,
		} {
			if errors.Is(err, store.ErrUnknown) != (got == op) {
				t.Errorf("%s when the answer to %s is lost = %v", got, op, err)
			}
		}
		if (quota == 4) == (op == storetest.OpHold) || ok == (op == storetest.OpDraw) || (len(list) == 1) == (op == storetest.OpHoldings) {
			t.Errorf("when the answer to %s is lost: quota %d, drawn %v, holdings %v", op, quota, ok, list)
		}
	}
	if _, ok, err := s.Draw(t.Context(), l, 3); ok || err != nil {
		t.Errorf("a permit too many = %v, %v; want it refused, since all others count", ok, err)
	}
}
