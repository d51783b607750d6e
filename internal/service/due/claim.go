package due

import "time"

// Claim reserves a record for one process until a time. It is part of the record.
type Claim struct {
	By    string    `json:"by"` // the process
	Until time.Time `json:"until"`
}

// Free reports whether a process may claim the record of c at now; a nil claim reserves nothing.
func (c *Claim) Free(by string, now time.Time) bool {
	return c == nil || c.By == by || !c.Until.After(now)
}

// Is reports whether two claims are the same one.
func (c *Claim) Is(o *Claim) bool {
	return c != nil && o != nil && c.By == o.By && c.Until.Equal(o.Until)
}
