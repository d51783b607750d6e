package serve

import "syscall"

// ErrAddressInUse is WSAEADDRINUSE: another process listens on the address. The constants of package syscall with
// the POSIX names never come from the system on Windows.
const ErrAddressInUse = syscall.Errno(10048)
