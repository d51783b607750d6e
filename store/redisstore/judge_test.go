package redisstore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
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

// TestAGuardJudgesOneProcessOfOneServer has two looks at servers of which one is degraded.
func TestAGuardJudgesOneProcessOfOneServer(t *testing.T) {
	now := time.Now()
	seen := []sight{
		{runID: "one", address: "a:1", at: now, confirmed: true},
		{runID: "other", address: "b:1", at: now, confirmed: true, online: []int64{1}, alive: 1},
		{runID: "", address: "c:1", at: now, confirmed: true}, // it does not tell who it is
	}
	for _, strict := range []bool{false, true} {
		var said bytes.Buffer
		o := Options{Replicas: 1, Strict: strict, Logger: slog.New(slog.NewTextHandler(&said, nil))}
		g := newGuard(o, func(context.Context) []sight { return seen })
		g.judge(t.Context(), now)
		alone := 0
		if strict {
			alone = 1
		}
		for id, want := range map[string]int{"one": alone, "other": 1, "": 1, "a server that was never seen": 1} {
			if got := g.need(id, now); got != want {
				t.Errorf("strict %v: server %q needs %d replicas, want %d", strict, id, got, want)
			}
		}
		if got := g.need("one", now.Add(holdFor+1)); got != 1 {
			t.Errorf("strict %v: a server of which nothing was heard needs %d replicas, want 1", strict, got)
		}
		var e *DegradedError
		if err := g.short(); !errors.As(err, &e) || len(e.Servers) != 2 || e.Servers[0].Server != "a:1" || e.Servers[0].Waits != strict || !e.Servers[1].Waits {
			t.Errorf("strict %v: short() = %v, want a:1 and c:1, which waits", strict, err)
		}
		if on := strings.Contains(said.String(), "goes on with fewer"); on == strict {
			t.Errorf("strict %v: log = %s", strict, said.String())
		}
	}
}
