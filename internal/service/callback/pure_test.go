package callback

import (
	"encoding/json"
	"github.com/weirhq/weir/internal/service/due"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/edge/execute"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestEventIDs(t *testing.T) {
	first := EventID("ba_1", TypeCompleted, 0)
	if again := EventID("ba_1", TypeCompleted, 0); first != again || !strings.HasPrefix(first, "evt_") {
		t.Errorf("ids of one event = %s and %s, want equal and evt_…", first, again)
	}
	seen := map[string]bool{first: true}
	for _, id := range []string{EventID("ba_2", TypeCompleted, 0), EventID("ba_1", TypeStopped, 0), EventID("ba_1", TypeCompleted, 1)} {
		if seen[id] {
			t.Errorf("two events have the id %s", id)
		}
		seen[id] = true
	}
}

func TestBodyIsACloudEvent(t *testing.T) {
	ev := Event{ID: "evt_1", Type: TypeCompleted, Tenant: "growth", BulkAction: "ba_1", At: noon, Data: json.RawMessage(`{"name":"<b>", "n":1}`)}
	body, err := ev.body("/weir")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"specversion":"1.0","id":"evt_1","type":"bulk_action.completed","source":"/weir","subject":"ba_1",` +
		`"time":"2026-03-01T12:00:00Z","datacontenttype":"application/json","tenant":"growth","data":{"name":"<b>","n":1}}`
	if string(body) != want {
		t.Errorf("body = %s\nwant   %s", body, want)
	}
}

func TestEventsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Event)
		want   string
	}{
		{"a whole one", func(*Event) {}, ""},
		{"no id", func(e *Event) { e.ID = "" }, "out_of_range id"},
		{"no type and no time", func(e *Event) { e.Type, e.At = "", time.Time{} }, "out_of_range type, bad_time at"},
		{"too much data", func(e *Event) { e.Data = make([]byte, maxData+1) }, "out_of_range data"},
		{"invalid JSON data", func(e *Event) { e.Data = []byte("{") }, "bad_json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := completed("ba_1")
			tt.change(&ev)
			err := ev.check()
			if err == nil {
				_, err = ev.body("/weir")
			}
			if got := fieldCodes(err); got != tt.want {
				t.Errorf("error = %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestScheduleTakesAboutThirtyTwoHours(t *testing.T) {
	for _, u := range []float64{0, 0.5, 0.999} {
		var all time.Duration
		n := 1
		for d, again := rest(n, 0, u); again; d, again = rest(n, 0, u) {
			all += d
			n++
		}
		if n != 11 || all < 28*time.Hour || all > 36*time.Hour {
			t.Errorf("u=%v: %d attempts over %v, want 11 over about 32h", u, n, all)
		}
	}
}

func TestEndpointsMayAskForMoreRest(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		attempt      int
		want         time.Duration
	}{
		{"nothing asked for", "", 1, 5 * time.Second},
		{"more than planned", "120", 1, 2 * time.Minute},
		{"less than planned", "1", 4, 10 * time.Minute},
		{"more than allowed", "86400", 1, time.Hour},
		{"far too much", "9223372036854775807", 1, time.Hour},
		{"a date", noon.Add(3 * time.Minute).Format(http.TimeFormat), 1, 3 * time.Minute},
		{"a date that is far off", noon.Add(300 * time.Hour).Format(http.TimeFormat), 1, time.Hour},
		{"a date that is past", noon.Add(-time.Minute).Format(http.TimeFormat), 1, 5 * time.Second},
		{"rubbish", "soon", 1, 5 * time.Second},
		{"less than nothing", "-5", 1, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, _ := execute.ParseWait(tt.header, noon)
			if got, _ := rest(tt.attempt, asked, 0.5); got != tt.want {
				t.Errorf("rest = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	ours, theirs := &due.Claim{By: "a", Until: noon.Add(time.Minute)}, &due.Claim{By: "b", Until: noon.Add(time.Minute)}
	old := &due.Claim{By: "b", Until: noon.Add(-time.Second)}
	for _, tt := range []struct {
		name  string
		d     Delivery
		alone bool
		want  bool
	}{
		{"free and due", Delivery{State: Pending, Due: noon}, false, true},
		{"not due", Delivery{State: Pending, Due: noon.Add(1)}, false, false},
		{"delivered", Delivery{State: Delivered, Due: noon}, false, false},
		{"another's", Delivery{State: Pending, Due: noon, Claim: theirs}, false, false},
		{"another's that is over", Delivery{State: Pending, Due: noon, Claim: old}, false, true},
		{"our own, whose answer was lost", Delivery{State: Pending, Due: noon, Claim: &due.Claim{By: "a", Until: noon.Add(time.Second)}}, false, true},
		{"that of a process before, for one that is alone", Delivery{State: Pending, Due: noon, Claim: theirs}, true, true},
		{"not due, for one that is alone", Delivery{State: Pending, Due: noon.Add(1), Claim: theirs}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.d.take(ours, noon, tt.alone); got != tt.want || got && !tt.d.Claim.Is(ours) {
				t.Errorf("take = %v with claim %v, want %v", got, tt.d.Claim, tt.want)
			}
		})
	}
}

func TestResultsOfAttempts(t *testing.T) {
	ours, theirs := &due.Claim{By: "a", Until: noon}, &due.Claim{By: "b", Until: noon}
	for _, tt := range []struct {
		name    string
		d       Delivery
		code    Code
		matters bool
		state   State
		tries   int
	}{
		{"a success", Delivery{Claim: ours}, "", true, Delivered, 1},
		{"a success after the claim was lost", Delivery{Claim: theirs}, "", true, Delivered, 1},
		{"a failure", Delivery{Claim: ours}, CodeStatus, true, Pending, 1},
		{"a failure after the claim was lost", Delivery{Claim: theirs}, CodeStatus, false, Pending, 0},
		{"a failure that was noted before", Delivery{}, CodeStatus, false, Pending, 0},
		{"the last failure", Delivery{Claim: ours, Tries: 10}, CodeTimeout, true, Failed, 11},
		{"the only failure", Delivery{Claim: ours, Once: true}, CodeTimeout, true, Failed, 1},
		{"gone", Delivery{Claim: ours}, CodeGone, true, Failed, 1},
		{"interrupted", Delivery{Claim: ours}, CodeInterrupted, true, Pending, 0},
		{"a success when it is over", Delivery{State: Failed}, "", false, Failed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.d
			if d.State == "" {
				d.State = Pending
			}
			got := d.settle(ours, Attempt{Code: tt.code}, noon, 0.5)
			if got != tt.matters || d.State != tt.state || d.Tries != tt.tries {
				t.Errorf("settle = %v, %s after %d, want %v, %s after %d", got, d.State, d.Tries, tt.matters, tt.state, tt.tries)
			}
			if d.State == Pending && tt.matters && d.Claim != nil {
				t.Error("the claim was not given back")
			}
		})
	}
}

func TestLastTwentyAttemptsAreKept(t *testing.T) {
	d := Delivery{State: Pending}
	for i := range 30 {
		d.Claim, d.Tries = &due.Claim{By: "a", Until: noon}, 0
		d.settle(&due.Claim{By: "a", Until: noon}, Attempt{Code: CodeStatus, Status: i}, noon, 0)
	}
	if len(d.Attempts) != 20 || d.Attempts[0].Status != 10 || d.Attempts[19].Status != 29 {
		t.Errorf("kept %d attempts, want those from 10 to 29", len(d.Attempts))
	}
}

func TestSecretsSignWhileTheirTimeLasts(t *testing.T) {
	s := secrets{{Text: "a"}}
	s = s.rotate("b", noon, time.Hour)
	s = s.rotate("c", noon.Add(30*time.Minute), time.Hour)
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{31 * time.Minute, "c b a"}, {time.Hour, "c b"}, {89 * time.Minute, "c b"}, {90 * time.Minute, "c"}, {1000 * time.Hour, "c"}} {
		if got := s.at(noon.Add(tt.after)); got != tt.want {
			t.Errorf("after %v sign %q, want %q", tt.after, got, tt.want)
		}
	}
	if got := s.rotate("d", noon.Add(2*time.Hour), 0).at(noon.Add(2 * time.Hour)); got != "d" {
		t.Errorf("rotated at once, %q signs, want d", got)
	}
	if got := s.rotate("c", noon, time.Hour).at(noon); strings.Count(got, "c") != 1 {
		t.Errorf("the same secret again: %q signs, want c once", got)
	}
}

func TestNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, 1<<62).Draw(t, "a"), rapid.Int64Range(0, 1<<62).Draw(t, "b")
		early, late := newestFirst(time.Unix(0, min(a, b))), newestFirst(time.Unix(0, max(a, b)))
		if late > early {
			t.Fatalf("%s of a later time comes after %s", late, early)
		}
	})
}

func TestCodesListsEveryCode(t *testing.T) {
	raw, err := os.ReadFile("code.go")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`Code = "(\w+)"`).FindAllStringSubmatch(string(raw), -1)
	if len(written) != len(Codes()) {
		t.Errorf("%d codes are listed, want %d", len(Codes()), len(written))
	}
	for _, code := range written {
		if !slices.Contains(Codes(), Code(code[1])) {
			t.Errorf("%s is not listed", code[1])
		}
	}
}
