// Package planted holds deliberate bugs that prove the simulation can fail.
//
// The product knows nothing of them. Each is a patch in bugs.txt, guarded by [Is].
// [Overlay] writes patched copies of the sources for a build of the simulation's
// tests, in which [Choose] switches one bug on at a time.
package planted

import "sync/atomic"

var chosen atomic.Pointer[string]

// Choose switches on the bug with a name and switches off every other; "" switches off all.
func Choose(name string) { chosen.Store(&name) }

// Is reports whether the bug with a name is switched on.
func Is(name string) bool {
	is := chosen.Load()
	return is != nil && *is == name
}
