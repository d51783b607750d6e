package forecast

import (
	"fmt"
	"testing"
	"time"
)

// fleet is the works of so many tenants, of three sizes, on two resources.
func fleet(n int, items int64) ([]Work, Load) {
	_, l := awards(1)
	works := make([]Work, n)
	for i := range works {
		works[i] = Work{Name: fmt.Sprint("w", i), Tenant: fmt.Sprint("t", i), Items: items * int64(1+i%3), Steps: on("award.db", "send-message")}
	}
	return works, l
}

func together(t *testing.T, works []Work, l Load) []time.Duration {
	t.Helper()
	out, err := Together(works, l)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTogetherIsWhatEachIsByItself(t *testing.T) {
	for _, items := range []int64{2_000, 100_000} {
		works, l := fleet(6, items)
		got := together(t, works, l)
		for i, w := range works {
			beside := l
			for k, o := range works {
				if k != i {
					beside.Others = append(beside.Others, o)
				}
			}
			want, _, err := Left(w, beside)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%d items beside others", w.Items), got[i], want, 0.1)
		}
	}
}

func TestTogetherManyTakeAsLongAsTheSlowestRate(t *testing.T) {
	works, l := fleet(MostTogether, 1_000_000)
	got := together(t, works, l)
	sum, longest := int64(0), time.Duration(0)
	for i, w := range works {
		sum, longest = sum+w.Items, max(longest, got[i])
	}
	near(t, "the last of all", longest, time.Duration(float64(sum)/300*1e9), 0.1)
	l.Resources[1].Rate = 450
	for i, faster := range together(t, works, l) {
		near(t, fmt.Sprint("at 450/s, work ", i), faster, time.Duration(float64(got[i])*300/450), 0.2)
	}
}

func TestTogetherWithoutASuccessThereIsNoEnd(t *testing.T) {
	works, l := fleet(2, 1000)
	works[1].Steps = on("award.db")
	l.Resources[1].Failures = 1
	if got := together(t, works, l); got[0] != 0 || got[1] == 0 {
		t.Errorf("Together = %v, want no end of what uses a resource of which every call fails", got)
	}
}
