//go:build !windows

package cli

import "syscall"

const (
	errLocked       = syscall.EAGAIN     // another process has locked the data directory
	errAddressInUse = syscall.EADDRINUSE // another process listens on the address
)
