package fault

import "testing"

func TestOnlyFailuresWithoutAClearAnswerAreUnclear(t *testing.T) {
	for _, tt := range []struct {
		name, code, message string
		want                bool
	}{
		{"a timeout", "timeout", "timeout: no answer within 3s", true},
		{"a handler that does not return", "timeout", "the handler did not return after its timeout", true},
		{"a service that says why it failed", "timeout", "the bank did not respond, nothing was booked", false},
		{"a connection that broke", "unreachable", "unreachable: EOF", true},
		{"no connection", "unreachable", "unreachable: dial tcp <n>.<n>.<n>.<n>:<n>: connect: connection refused", false},
		{"a phone that a service cannot reach", "unreachable", "the phone is switched off", false},
		{"no connection after a timeout", "unreachable", AfterUnclear + "unreachable: dial tcp: connection refused", true},
		{"an answer without the item", "no_result", "", true},
		{"a search without a result", "no_result", "no address of this name", false},
		{"the death of the node", "crashed_node", "the process ended each time", true},
		{"items refused as wrong", "http_4xx", "400 Bad Request", false},
		{"a batch too large", "too_large", "too_large: 413", false},
		{"asked for another attempt", "gave_up", "", false},
		{"a code of the service", "closed", "account u3 is closed", false},
		{"all other groups", "other", "failures that have no group of their own", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Unclear(tt.code, tt.message); got != tt.want {
				t.Errorf("Unclear(%q, %q) = %t, want %t", tt.code, tt.message, got, tt.want)
			}
		})
	}
}
