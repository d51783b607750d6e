package redisstore

import (
	"testing"
	"time"
)

// TestHowManyReplicasAServerNeeds plays looks at a server, one a second, that promised two replicas.
func TestHowManyReplicasAServerNeeds(t *testing.T) {
	const up, noticed = 100, 5 * time.Second
	good := sight{confirmed: true, online: []int64{up, up}, alive: 2}
	dead := sight{confirmed: true, online: []int64{up}, alive: 1}
	cut := sight{confirmed: true, online: []int64{up}, alive: 2}
	for _, tt := range []struct {
		name  string
		looks []sight
		want  []int
	}{
		{"all replicas connected", []sight{good, good}, []int{2, 2}},
		{"a replica that the majority takes for dead is not waited for", []sight{good, dead, dead}, []int{2, 1, 1}},
		{"nor are two", []sight{good, {confirmed: true}}, []int{2, 0}},
		{"a server that the majority does not name waits for all", []sight{good, {online: nil}, {online: nil, alive: 0}}, []int{2, 2, 2}},
		{
			"a dead replica that is still connected is waited for",
			[]sight{good, {confirmed: true, online: []int64{up, 1}, alive: 1}, {confirmed: true, online: []int64{up, 1}, alive: 1}},
			[]int{2, 2, 2},
		},
		{
			"a replica that lives and is not connected is waited for until the majority would have noticed",
			[]sight{good, cut, cut, cut, cut, cut, cut, cut},
			[]int{2, 2, 2, 2, 2, 2, 2, 1},
		},
		{
			"and a look that is not confirmed begins that time anew",
			[]sight{good, cut, cut, cut, {online: []int64{up}}, cut, cut, cut, cut},
			[]int{2, 2, 2, 2, 2, 2, 2, 2, 2},
		},
		{
			"a replica that comes back counts when it has caught up, not before",
			[]sight{dead, {confirmed: true, online: []int64{up, 0}, alive: 2}, {confirmed: true, online: []int64{up, 3}, alive: 2}, good, good},
			[]int{1, 1, 1, 2, 2},
		},
		{
			"a degraded server that the majority names no more needs all when the last word has run out",
			[]sight{dead, {online: []int64{up}}, {online: []int64{up}}, {online: []int64{up}}},
			[]int{1, 1, 1, 2},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := judgement{need: 2, offset: up}
			for i, s := range tt.looks {
				s.at, s.offset, s.noticedIn = time.Unix(int64(i), 0), up, noticed
				j = j.next(s, 2)
				if got := j.needs(2, s.at); got != tt.want[i] {
					t.Errorf("after look %d (%+v) it needs %d, want %d", i, s, got, tt.want[i])
				}
				if short := !j.since.IsZero(); short != (len(s.online) < 2 || tt.want[i] < 2) {
					t.Errorf("after look %d (%+v) short = %v", i, s, short)
				}
			}
		})
	}
}
