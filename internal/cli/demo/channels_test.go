package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
)

// people is a task over the first n people.
func people(n int) *weir.Task {
	t := &weir.Task{ID: "tsk_1", Bulk: "ba_1", Attempt: 2, Outcomes: make([]weir.Outcome, n)}
	for it := range People(n) {
		t.Items = append(t.Items, weir.TaskItem{No: int64(len(t.Items)), ID: it.ID, Data: it.Value})
	}
	return t
}

func TestAnOutageBeginsEndsAndComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sms := Channels(Options{NoLatency: true}, Outage{After: 3 * time.Second, For: 40 * time.Second, Every: 4 * time.Minute})[2]
		time.Sleep(time.Hour) // only calls count
		began := time.Now()
		for _, at := range []struct {
			since time.Duration
			down  bool
		}{{0, false}, {2 * time.Second, false}, {3 * time.Second, true}, {42 * time.Second, true}, {44 * time.Second, false},
			{242 * time.Second, false}, {243 * time.Second, true}, {284 * time.Second, false}} {
			time.Sleep(time.Until(began.Add(at.since)))
			if err := sms.Handle(t.Context(), people(1)); errors.Is(err, errDown) != at.down {
				t.Errorf("%v after the first call: %v, want down: %v", at.since, err, at.down)
			}
		}
	})
}

func TestTheOtherChannelsAreNeverDown(t *testing.T) {
	for _, s := range Channels(Options{NoLatency: true}, Outage{For: time.Hour})[:2] {
		if err := s.Handle(context.Background(), people(10)); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestSomeMailboxesDoNotExist(t *testing.T) {
	all := people(2000)
	if err := Channels(Options{NoLatency: true}, Outage{})[1].Handle(context.Background(), all); err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for _, o := range all.Outcomes {
		codes[o.Code]++
	}
	if codes["bounced"] < 30 || codes["bounced"] > 90 || codes["unsubscribed"] < 10 || codes["unsubscribed"] > 50 {
		t.Errorf("outcomes of 2,000 by code: %v", codes)
	}
	if o := all.Outcomes[41]; all.Items[41].ID != "user-42" || o.Code != "bounced" || !strings.Contains(o.Message, "user-42") {
		t.Errorf("user-42 ends as %+v, want a failure: the tour asks for it", o)
	}
}

func TestASegmentHasPeople(t *testing.T) {
	w := httptest.NewRecorder()
	Carts(w, nil)
	var page struct {
		Items []struct {
			ID string `json:"user_id"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) != cartUsers || page.Items[41].ID != "user-42" {
		t.Errorf("%d items, %v: %.200s", len(page.Items), err, w.Body)
	}
}
