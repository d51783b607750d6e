//go:build !linux && !darwin && !freebsd

package doctor

// openFiles has no answer here.
func openFiles() (most uint64, known bool) { return 0, false }

// diskSpace leaves the question to the store, which looks when it is opened.
func diskSpace(string) (free, total uint64, known bool) { return 0, 0, false }
