package fault

import "strings"

// AfterUnclear begins the message of an item whose last attempt did nothing, and for which an earlier one gave no clear answer.
const AfterUnclear = "after a call without a clear answer, "

// unclear lists the codes of failed items whose last attempt gave no clear answer: the service may have done them. It is
// the only list of them. A function tells failures that weir saw from those that a service reports with a code of the
// same name, and those in which a call was made from those in which none was.
var unclear = map[string]func(message string) bool{
	"bad_answer":    begins("bad_answer: "), // what the endpoint answered cannot be read
	"cancelled":     cutOff,
	"crashed_node":  always, // the process died while the item was in a call
	"handler_bug":   always,
	"handler_error": always, // of a whole batch
	"http_5xx":      always,
	"no_result":     silent, // the answer did not name the item
	"panic":         always,
	"timeout":       timedOut,
	"unreachable":   brokeOff,
}

// Unclear reports whether the failure of an item, by its code and its message or that of its group, leaves open what
// became of the item: the service may have done it. Every other failure says that it was not done.
func Unclear(code, message string) bool {
	if strings.HasPrefix(message, AfterUnclear) {
		return true
	}
	is := unclear[code]
	return is != nil && is(message)
}

// Uncalled reports whether a failure of an item says that no call with it was made, so that what an earlier one left open
// stays open.
func Uncalled(code, message string) bool {
	return code == "unreachable" && strings.HasPrefix(message, "unreachable: dial ") || code == "too_large" && strings.HasPrefix(message, "too_large: ")
}

func always(string) bool { return true }

func silent(message string) bool { return message == "" }

func begins(with string) func(string) bool {
	return func(message string) bool { return strings.HasPrefix(message, with) }
}

// cutOff reports whether a call was cut off from this side.
func cutOff(message string) bool {
	return strings.HasPrefix(message, "cancelled: ") || strings.Contains(message, "context canceled")
}

// timedOut reports whether a call ended without an answer in time.
func timedOut(message string) bool {
	return strings.HasPrefix(message, "timeout: ") || strings.Contains(message, "deadline exceeded") || strings.Contains(message, "did not return after its timeout")
}

// brokeOff reports whether a connection broke. Where none was made, nothing was done.
func brokeOff(message string) bool {
	return strings.HasPrefix(message, "unreachable: ") && !strings.HasPrefix(message, "unreachable: dial ")
}
