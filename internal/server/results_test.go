package server_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestResultsAreDownloadedAndGoOnAfterACut(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(2500, func(i int) string {
		return fmt.Sprintf(`{"id":"u%d","bad":%v,"text":"=cmd|'%d'","deep":{"a":[1,2]}%s}`, i, i%5 == 0, i, map[bool]string{true: `,"late":-3`}[i == 2400])
	}))
	n.Until(b.ID, api.Completed)
	path := "/v1/bulk-actions/" + b.ID + "/results"
	var whole string
	h := n.Call("GET", path+"?state=all&format=csv", "", 200, &whole)
	if got := h.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment") || !strings.HasPrefix(h.Get("Content-Type"), "text/csv") {
		t.Errorf("disposition %q, type %q", got, h.Get("Content-Type"))
	}
	table, err := csv.NewReader(strings.NewReader(whole)).ReadAll()
	if err != nil || len(table) != 2501 {
		t.Fatalf("%d rows, %v; want 2501", len(table), err)
	}
	column := map[string]int{}
	for i, name := range table[0] {
		column[name] = i
	}
	if got := table[1][column["text"]]; got != `'=cmd|'0'` {
		t.Errorf("a formula came as %q, want it guarded", got)
	}
	if got := table[2401][column["late"]]; got != "-3" {
		t.Errorf("a member that comes late is %q, want -3", got)
	}
	if got := table[2][column["output.by"]]; got != "award" {
		t.Errorf("output = %q, want award", got)
	}
	lines := strings.SplitAfter(whole, "\n")
	cut := 1234
	var rest string
	n.Call("GET", path+"?state=all&format=csv&after="+table[cut][column["item"]], "", 200, &rest)
	if strings.Join(lines[:cut+1], "")+rest != whole {
		t.Errorf("what was had and the rest are not the whole")
	}
	var raw string
	n.Call("GET", path+"?state=failed&raw=true", "", 200, &raw)
	if !strings.Contains(raw, ",=cmd|'0'") || strings.Count(raw, "\n") != 501 {
		t.Errorf("raw CSV is guarded, or has %d lines; want 501", strings.Count(raw, "\n"))
	}
	var p api.Problem
	n.Call("GET", path+"?after=itm_01k9x2v6w4s8m1c7q3d5f9h0jz-1", "", 400, &p)
	if p.Code != "bad_cursor" {
		t.Errorf("problem %+v, want bad_cursor", p)
	}
}

func TestResultsAsNDJSONHaveTheDocumentsAsTheyWere(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(1100, func(i int) string { return fmt.Sprintf(`{"id":"u%d","big":12345678901234567890,"x":"<&>"}`, i) }))
	n.Until(b.ID, api.Completed)
	var text string
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/results?state=done&format=ndjson", "", 200, &text)
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); lines++ {
		var x api.ItemResult
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"id":"u%d","big":12345678901234567890,"x":"<&>"}`, lines); string(x.Data) != want || !strings.HasSuffix(x.Item, fmt.Sprint("-", lines)) {
			t.Fatalf("line %d: %s", lines, s.Text())
		}
	}
	if lines != 1100 {
		t.Errorf("%d lines, want 1100", lines)
	}
}

// requests is how many requests of a route have ended.
func requests(t *testing.T, reg *prometheus.Registry, route string) (n uint64) {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "weir_http_request_duration_seconds" && l.GetValue() == route {
					n += m.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return n
}

func TestAReaderThatTakesNothingIsCutOff(t *testing.T) {
	gate := newGate()
	gate.open()
	reg := prometheus.NewRegistry()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}, Metrics: reg, Server: server.Options{SlowBody: 200 * time.Millisecond}})
	long := strings.Repeat("x", 20_000) // all of it does not fit into what lies between two ends of a connection
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(1000, func(i int) string { return fmt.Sprintf(`{"id":"u%d","x":%q}`, i, long) }))
	n.Until(b.ID, api.Completed)
	c, err := net.Dial("tcp", strings.TrimPrefix(n.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /v1/bulk-actions/%s/results?state=all&format=ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n", b.ID)
	n.Eventually("the server gives up", func() bool { return requests(t, reg, "bulk_action.results") == 1 })
	got, err := io.ReadAll(c)
	if len(got) > 18<<20 || err == nil && strings.HasSuffix(string(got), "0\r\n\r\n") {
		t.Errorf("%d bytes came, want the download cut off", len(got))
	}
}

// The output of each step is in the files, and not that of the last one alone.
func TestResultsHaveTheOutputsOfAllSteps(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("message")}})
	for steps, want := range map[string]string{
		`{"action":"award"}`:                      "output.by=award output.of=u2",
		`{"action":"award"},{"action":"message"}`: "output.award.by=award output.award.of=u2 output.message.by=message output.message.of=u2",
	} {
		b := n.Make(`{"steps":[`+steps+`]}`, rows(3, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
		n.Until(b.ID, api.Completed)
		path := "/v1/bulk-actions/" + b.ID + "/results?state=all"
		var text string
		n.Call("GET", path+"&format=csv", "", 200, &text)
		table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(table) != 4 {
			t.Fatalf("%d rows, %v; want 4", len(table), err)
		}
		var got []string
		for i, name := range table[0] {
			if strings.HasPrefix(name, "output") {
				got = append(got, name+"="+table[3][i])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("CSV of %s has %q, want %s", steps, got, want)
		}
		n.Call("GET", path+"&format=ndjson", "", 200, &text)
		var x api.ItemResult
		if err := json.Unmarshal([]byte(strings.SplitN(text, "\n", 2)[0]), &x); err != nil {
			t.Fatal(err)
		}
		award, message := `{"by":"award","of":"u0"}`, `{"by":"message","of":"u0"}`
		last, outputs := award, 0
		if strings.Contains(want, "message") {
			last, outputs = message, 2
		}
		if string(x.Output) != last || len(x.Outputs) != outputs || outputs > 0 && string(x.Outputs["award"]) != award {
			t.Errorf("NDJSON of %s has output %s and outputs %s", steps, x.Output, x.Outputs)
		}
	}
}
