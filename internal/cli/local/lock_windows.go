package local

import "syscall"

// ErrLocked is ERROR_SHARING_VIOLATION: another process has locked the data directory. The constants of package
// syscall with the POSIX names never come from the system on Windows.
const ErrLocked = syscall.Errno(32)
