//go:build !windows

package serve

import (
	"syscall"
)

// ErrAddressInUse is the system's answer if another process listens on the address.
const ErrAddressInUse = syscall.EADDRINUSE
