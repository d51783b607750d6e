package chain

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir"
)

// RunOf returns the run of weir run that the text of a chain belongs to; empty: none. The run is a
// member of the params, so that a retry belongs to it as well. Only weir run has the endpoints of
// its steps: a server continues no run, and a run no bulk action but its own.
func RunOf(text []byte) string {
	if !bytes.Contains(text, []byte("weir_run")) && bytes.IndexByte(text, '\\') < 0 { // an escape may spell it
		return ""
	}
	var p struct {
		Params struct {
			Run string `json:"weir_run"`
		} `json:"params"`
	}
	_ = json.Unmarshal(text, &p) // without it, it belongs to no run
	return p.Params.Run
}

// DescribeUnlessRun is [Chains.Describe] for all but runs.
func (s *Chains) DescribeUnlessRun(text []byte) ([]weir.Step, error) {
	if run := RunOf(text); run != "" {
		return nil, fmt.Errorf("%s is a run: it continues with weir run --resume", run)
	}
	return s.Describe(text)
}
