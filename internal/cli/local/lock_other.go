//go:build !windows

package local

import (
	"syscall"
)

// ErrLocked is the system's answer if another process has locked the data directory.
const ErrLocked = syscall.EAGAIN
