package cli

import "syscall"

// unsynced is the state of a clock that nobody sets.
const unsynced = 5

// clockSynced reports whether the kernel knows of somebody who sets the clock.
func clockSynced() (synced, known bool) {
	state, err := syscall.Adjtimex(&syscall.Timex{})
	return state != unsynced, err == nil
}
