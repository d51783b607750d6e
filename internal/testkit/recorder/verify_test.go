package recorder_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

const items = 2000

// evidence is the judge's input from an honest run.
type evidence struct {
	log []recorder.Entry
	rep recorder.Report
	run recorder.Run
}

func honest(t *testing.T) *evidence {
	t.Helper()
	c := newCaller(t, recorder.Options{})
	e := &evidence{run: recorder.Run{
		Seed: seed, Steps: []string{recorder.Award, recorder.Message}, MaxAttempts: attempts, Bulk: bulk,
		Items: func(yield func(string) bool) {
			for i := range items {
				if !yield(fmt.Sprint("u", i)) {
					return
				}
			}
		},
	}}
	for id := range e.run.Items {
		e.rep.Rows = append(e.rep.Rows, c.through(id))
	}
	e.log = c.log()
	e.sumUp()
	return e
}

// sumUp makes the summary that belongs to the rows.
func (e *evidence) sumUp() {
	s := &e.rep.Summary
	*s = recorder.Summary{ID: bulk, State: "completed"}
	s.Steps = append(s.Steps, make([]struct {
		Name     string `json:"name"`
		Done     int    `json:"done"`
		Failed   int    `json:"failed"`
		Attempts int    `json:"attempts"`
	}, 2)...)
	for _, r := range e.rep.Rows {
		s.Counts.Total++
		if r.State == recorder.Done {
			s.Counts.Done++
			s.Steps[0].Done++
			s.Steps[1].Done++
			continue
		}
		s.Counts.Failed++
		at := slices.Index(e.run.Steps, r.Step)
		s.Steps[at].Failed++
		if at == 1 {
			s.Steps[0].Done++
		}
		s.Errors = append(s.Errors, struct {
			Step  string `json:"step"`
			Code  string `json:"code"`
			Count int    `json:"count"`
		}{r.Step, r.Code, 1})
	}
	for _, x := range e.log {
		if x.Answer != recorder.Refused {
			s.Steps[slices.Index(e.run.Steps, x.Step)].Attempts++
		}
	}
}

// row finds a row by what it is.
func (e *evidence) row(state, code string) *recorder.Row {
	i := slices.IndexFunc(e.rep.Rows, func(r recorder.Row) bool { return r.State == state && r.Code == code })
	return &e.rep.Rows[i]
}

// call finds the first call of an item at a step.
func (e *evidence) call(step, id string) int {
	return slices.IndexFunc(e.log, func(x recorder.Entry) bool {
		return x.Step == step && x.Item == id && x.Answer != recorder.Refused
	})
}

// again adds a call like that at i at the end of the log, in a later life.
func (e *evidence) again(i, life int) {
	x := e.log[i]
	x.Life, x.Received = life, e.log[len(e.log)-1].Received+1
	e.log = append(e.log, x)
	e.rep.Summary.Steps[slices.Index(e.run.Steps, x.Step)].Attempts++
}

func TestHonestRunPasses(t *testing.T) {
	e := honest(t)
	stats, err := recorder.Verify(e.log, &e.rep, e.run)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Done+stats.Failed != items || stats.Repeats != 0 || stats.Refused == 0 || stats.Calls != len(e.log) {
		t.Errorf("stats = %v", stats)
	}
}

func TestRepeatsWithinTheBoundPass(t *testing.T) {
	e := honest(t)
	e.run.Deaths, e.run.AtRisk = 1, 2
	e.again(e.call(recorder.Message, e.row(recorder.Done, "").ID), 2)
	stats, err := recorder.Verify(e.log, &e.rep, e.run)
	if err != nil || stats.Repeats != 1 || stats.Worst != 1 {
		t.Errorf("stats = %v, error %v; want one repeat", stats, err)
	}
}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(e *evidence)
		want  string
	}{
		{"an item is lost", func(e *evidence) { e.rep.Rows = e.rep.Rows[1:]; e.sumUp() }, "lost"},
		{"an item ended twice", func(e *evidence) { e.rep.Rows = append(e.rep.Rows, e.rep.Rows[0]) }, "twice"},
		{"an item is invented", func(e *evidence) { e.rep.Rows[0].ID = "x" }, "never submitted"},
		{"a stranger is called", func(e *evidence) { e.log[0].Item = "x" }, "never submitted"},
		{"another bulk action calls", func(e *evidence) { e.log[0].Bulk = "ba_2" }, "never submitted"},
		{"done without a call", func(e *evidence) {
			i := e.call(recorder.Message, e.row(recorder.Done, "").ID)
			e.log = slices.Delete(e.log, i, i+1)
		}, "no success at message"},
		{"done with another's receipt", func(e *evidence) { e.row(recorder.Done, "").Receipt = "r" }, "receipt"},
		{"failed with another error", func(e *evidence) { e.row(recorder.Failed, "closed").Message = "?" }, "it was given closed"},
		{"failed after a success", func(e *evidence) {
			r := e.row(recorder.Done, "")
			*r = recorder.Row{ID: r.ID, State: recorder.Failed, Step: recorder.Message, Attempts: 1}
		}, "where it succeeded"},
		{"gave up early", func(e *evidence) { e.row(recorder.Failed, "busy").Attempts = 2 }, "gave up after 2"},
		{"more attempts than calls", func(e *evidence) { e.row(recorder.Failed, "closed").Attempts = 4 }, "there were 1 calls"},
		{"the second step comes first", func(e *evidence) {
			id := e.row(recorder.Done, "").ID
			a, m := e.call(recorder.Award, id), e.call(recorder.Message, id)
			e.log[a], e.log[m] = e.log[m], e.log[a]
		}, "before"},
		{"a first step that was not durable", func(e *evidence) {
			e.run.Deaths, e.run.AtRisk = 1, 10
			e.again(e.call(recorder.Award, e.row(recorder.Done, "").ID), 2)
		}, "called again at the step before message"},
		{"a key changes", func(e *evidence) {
			e.run.Deaths, e.run.AtRisk = 1, 10
			e.again(e.call(recorder.Message, e.row(recorder.Done, "").ID), 2)
			e.log[len(e.log)-1].Key = "k"
		}, "before it was"},
		{"a key is shared", func(e *evidence) { e.log[0].Key = e.log[len(e.log)-1].Key }, "is also that of"},
		{"too many attempts", func(e *evidence) {
			i := e.call(recorder.Message, e.row(recorder.Done, "").ID)
			e.run.Deaths, e.run.AtRisk = 1, 10
			for range attempts + 1 {
				e.again(i, 2)
			}
		}, "was tried"},
		{"a repeat without a death", func(e *evidence) { e.again(e.call(recorder.Message, e.row(recorder.Done, "").ID), 1) }, "which had its answer"},
		{"a repeat after a clean stop", func(e *evidence) {
			e.run.AtRisk = 10
			e.again(e.call(recorder.Message, e.row(recorder.Done, "").ID), 2)
		}, "only 0 were killed"},
		{"more repeats than a death costs", func(e *evidence) {
			e.run.Deaths, e.run.AtRisk = 1, 1
			for _, r := range e.rep.Rows[:10] {
				if r.State == recorder.Done {
					e.again(e.call(recorder.Message, r.ID), 2)
				}
			}
		}, "accounted for by 1 deaths"},
		{"a wrong input", func(e *evidence) { e.log[0].Answer, e.log[0].Message = recorder.Wrong, "no award" }, "no award"},
		{"counts differ", func(e *evidence) { e.rep.Summary.Counts.Done-- }, "done is"},
		{"a step's counts differ", func(e *evidence) { e.rep.Summary.Steps[0].Failed++ }, "failed at award"},
		{"errors are grouped wrongly", func(e *evidence) { e.rep.Summary.Errors[0].Count++ }, "errors "},
		{"attempts are invented", func(e *evidence) { e.rep.Summary.Steps[0].Attempts++ }, "attempts at award"},
		{"the run is not over", func(e *evidence) { e.rep.Summary.State = "running" }, "in state running"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := honest(t)
			tt.spoil(e)
			_, err := recorder.Verify(e.log, &e.rep, e.run)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestCallersSideBySideAreJudgedByTimes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fleet recorder.Fleet
		step  string
		by    int
		want  string // empty: it passes
	}{
		{"who was disturbed leaves repeats", recorder.Fleet{Disturbed: map[int]bool{1: true}}, recorder.Message, 2, ""},
		{"who was disturbed repeats its own", recorder.Fleet{Disturbed: map[int]bool{1: true}}, recorder.Message, 1, ""},
		{"who was not disturbed leaves none", recorder.Fleet{Disturbed: map[int]bool{2: true}}, recorder.Message, 2, "was not disturbed"},
		{"a zombie comes late", recorder.Fleet{Zombies: map[int]bool{2: true}}, recorder.Message, 2, ""},
		{"a zombie comes late at the step before", recorder.Fleet{Zombies: map[int]bool{2: true}}, recorder.Award, 2, ""},
		{"a step that was forgotten", recorder.Fleet{Disturbed: map[int]bool{1: true}}, recorder.Award, 2, "step before message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := honest(t)
			e.run.Deaths, e.run.AtRisk, e.run.Fleet = 1, 1, &tt.fleet
			e.again(e.call(tt.step, e.row(recorder.Done, "").ID), tt.by)
			_, err := recorder.Verify(e.log, &e.rep, e.run)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReadReportReadsFilesAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"report.json": `{"id":"ba_1","state":"completed","counts":{"total":2,"done":1,"failed":1},"steps":[{"name":"award","done":1}]}`,
		"done.csv":    "id,user,output.receipt\nu1,u1,r1\n",
		"failed.csv":  "id,step,code,message,attempts,user\nu2,award,closed,\"a \"\"b\"\", c\",3,u2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := recorder.ReadReport(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []recorder.Row{
		{ID: "u1", State: recorder.Done, Receipt: "r1"},
		{ID: "u2", State: recorder.Failed, Step: "award", Code: "closed", Message: `a "b", c`, Attempts: 3},
	}
	if !slices.Equal(got.Rows, want) || got.Summary.Counts.Total != 2 || got.Summary.Steps[0].Done != 1 {
		t.Errorf("report = %+v, want rows %+v", got, want)
	}
}

func TestReadLogRefusesDamage(t *testing.T) {
	c := newCaller(t, recorder.Options{})
	c.step(recorder.Award, "u1", recorder.Data{User: "u1"})
	whole, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	if log, err := recorder.ReadLog(bytes.NewReader(whole)); err != nil || len(log) == 0 || log[0].Item != "u1" {
		t.Errorf("ReadLog = %+v, %v; want the call for u1", log, err)
	}
	for name, damaged := range map[string][]byte{"cut": whole[:len(whole)-1], "text": []byte("1\tba_1\taward\tu1\n")} {
		if log, err := recorder.ReadLog(bytes.NewReader(damaged)); err == nil {
			t.Errorf("a %s log was read: %+v", name, log)
		}
	}
}
