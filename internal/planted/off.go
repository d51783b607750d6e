//go:build !planted

package planted

// Is reports whether bug b is switched on: never, in this build.
func Is(Bug) bool { return false }
