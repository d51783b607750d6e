package weir

import "time"

// ErrorGroup is all failures of a bulk action at one step that have the same code
// and, but for what differs from item to item, message.
type ErrorGroup struct {
	Step    string
	Code    string
	Message string // without numbers, ids and addresses
	// Other: the failures at the step that have no group of their own. A bulk
	// action has at most 100 groups besides; Code and Message are empty.
	Other bool
	Count int64
	// Missed is how many more may count in the group for all others; 0: Count is
	// exact. It is above 0 only while the bulk action runs, where a partition had more than 256 groups.
	Missed int64
	// First and Last are when failures of the group became durable. They are zero
	// for what older versions wrote.
	First, Last time.Time
	// Item is the position of one of the items, from 0: of those that failed, the first.
	Item int64
	// Sample is its message in full, up to 1,000 bytes.
	Sample string
}
