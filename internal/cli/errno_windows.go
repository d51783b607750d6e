package cli

import "syscall"

// What Windows answers. The constants of package syscall with the POSIX names never come from the system there.
const (
	errLocked       = syscall.Errno(32)    // ERROR_SHARING_VIOLATION: another process has locked the data directory
	errAddressInUse = syscall.Errno(10048) // WSAEADDRINUSE: another process listens on the address
)
