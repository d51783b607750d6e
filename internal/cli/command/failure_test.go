package command

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func TestWhatAServerRefusesIsExplained(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Failure
	}{
		{"one fault", &api.Problem{Status: 422, Detail: "steps: none", Fix: "add one"}, Failure{exitRefused, "steps: none", "add one"}},
		{"several", &api.Problem{Status: 422, Title: "It cannot be done", Detail: "a: bad", Errors: []api.Fault{
			{Field: "a", Message: "bad"}, {Line: 7, Message: "worse", Fix: "leave it out"},
		}}, Failure{exitRefused, "It cannot be done\na: bad\nline 7: worse; leave it out", ""}},
		{"no key", &api.Problem{Status: 401, Detail: "this needs an API key", Fix: "send it"}, Failure{exitRefused, "this needs an API key", "set WEIR_API_KEY_FILE, or save a key with weir login"}},
		{"a mistake of ours", &api.Problem{Status: 500, Detail: "oh", RequestID: "req_1"}, Failure{exitRefused, "oh (req_1)", ""}},
		{"nobody there", &client.UnreachableError{Server: "http://x", Err: errors.New("refused")}, Failure{ExitUnreachable, "http://x: refused", "check the address (--server, WEIR_SERVER), and that the server is up"}},
		{"an interrupt on the way", fmt.Errorf("x: %w", context.Canceled), Failure{ExitInterrupted, "interrupted", "run the same command again"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Explain(tt.err); *got != tt.want {
				t.Errorf("explain = %+v, want %+v", *got, tt.want)
			}
		})
	}
}
