package report

// Group counts the failures that have the same step, code and, but for details, message.
type Group struct {
	Step    string `json:"step"`
	Code    string `json:"code"`
	Message string `json:"message"` // without numbers, ids, addresses and quoted text
	Count   int64  `json:"count"`
	Sample  Sample `json:"sample"`
}

// Sample is one failure of a group in full: that of the first item in the input, so that it
// does not depend on the order of work.
type Sample struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}
