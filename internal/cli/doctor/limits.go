//go:build linux || darwin || freebsd

package doctor

import (
	"syscall"
)

// openFiles returns how many files this process may have open.
func openFiles() (most uint64, known bool) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
	return uint64(r.Cur), err == nil //nolint:unconvert // signed on some systems
}

// diskSpace returns the space that is free for this user on the disk of a directory.
func diskSpace(dir string) (free, total uint64, known bool) {
	var st syscall.Statfs_t
	err := syscall.Statfs(dir, &st)
	return uint64(st.Bavail) * uint64(st.Bsize), uint64(st.Blocks) * uint64(st.Bsize),
		err == nil //nolint:unconvert // of other types on other systems
}
