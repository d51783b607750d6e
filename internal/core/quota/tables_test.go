package quota_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

func TestEveryLimitHasBooksOfItsOwn(t *testing.T) {
	tables := quota.Tables{}
	seen := map[*quota.Table]store.Limit{}
	for _, l := range []store.Limit{
		{Resource: "a", Units: 1, Window: time.Second},
		{Resource: "a", Units: 1, Window: time.Minute},
		{Resource: "a", Units: 1},
		{Resource: "b", Units: 1},
	} {
		table := tables.Of(l, 0)
		if other, ok := seen[table]; ok {
			t.Errorf("%+v and %+v have the same books", l, other)
		}
		seen[table] = l
		l.Units = 50
		if tables.Of(l, 0) != table {
			t.Errorf("%+v has other books since its units have changed", l)
		}
	}
}

func TestNewBooksLearnAndOldOnesAreNotToldAgain(t *testing.T) {
	tables := quota.Tables{}
	l := store.Limit{Resource: "a", Units: 10, Window: time.Second}
	wantDraw(t, tables.Of(l, 30*ms), 0, 1, 30*time.Millisecond, false)
	wantDraw(t, tables.Of(l, 900*ms), 30*ms, 1, 0, true)
}
