package doctor

import (
	"syscall"
)

// unsynced is the state of a clock that is not synchronised.
const unsynced = 5

// clockSynced reports whether the kernel considers the clock synchronised.
func clockSynced() (synced, known bool) {
	state, err := syscall.Adjtimex(&syscall.Timex{})
	return state != unsynced, err == nil
}
