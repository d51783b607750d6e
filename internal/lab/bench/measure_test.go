package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItemsAreDifferentDocumentsOfAboutAHundredBytes(t *testing.T) {
	const n = 5000
	ids, docs, size := map[string]bool{}, map[string]bool{}, 0
	for it, err := range rewards(n) {
		if err != nil || !json.Valid(it.Value) {
			t.Fatalf("item %s is %s: %v", it.ID, it.Value, err)
		}
		ids[it.ID], docs[string(it.Value)] = true, true
		size += len(it.ID) + len(it.Value)
	}
	if len(ids) != n || len(docs) != n {
		t.Errorf("%d ids and %d documents of %d are different", len(ids), len(docs), n)
	}
	if mean := size / n; mean < 90 || mean > 110 {
		t.Errorf("an item has %d bytes, want about 100", mean)
	}
}

func TestMostFindsTheFullestSecond(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for _, tt := range []struct {
		name string
		all  []arrival
		want int
	}{
		{"nothing", nil, 0},
		{"all in one second", []arrival{{at(0), 3}, {at(999), 4}}, 7},
		{"a second later is another second", []arrival{{at(0), 3}, {at(1000), 4}}, 4},
		{"in any order", []arrival{{at(1500), 5}, {at(0), 3}, {at(600), 2}}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := most(tt.all); got != tt.want {
				t.Errorf("most = %d, want %d", got, tt.want)
			}
		})
	}
}

// Each measurement that is quick with few items runs here in small, so that it cannot rot.
func TestMeasurementsFindSomethingOut(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params params
		wants  []string
	}{
		{"throughput", params{Items: 5000, Batch: 100}, []string{"per_second", "ns_per_item", "submit_ms"}},
		{"throughput", params{Items: 2000, Batch: 1}, []string{"per_second"}},
		{"cancel", params{Items: 50_000}, []string{"stopped_ms", "ended_ms", "rows", "paused_rows"}},
		{"bytes", params{Items: 5000}, []string{"raw", "pending", "finished", "disk"}},
		{"fairness", params{Batch: 10}, []string{"p50_ms", "p99_ms"}},
		{"draft", params{Items: 10_000}, []string{"seal_ms", "append_ms"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := serve(t.Context(), tt.name, tt.params, t.TempDir(), "", &out); err != nil {
				t.Fatal(err)
			}
			var f figures
			if err := json.Unmarshal(out.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.wants {
				if f[want] <= 0 {
					t.Errorf("%s = %v, want more than 0 in %v", want, f[want], f)
				}
			}
		})
	}
}

func TestRunRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"-child", "nothing"}, {"-run", "("}, {"-unknown"}} {
		if _, err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("run(%q) gave no error", args)
		}
	}
}
