package storetest

import "github.com/weirhq/weir/store"

// Shared reports whether several processes can use the store at once.
func (f *Flaky) Shared() bool {
	s, ok := f.Store.(store.Sharing)
	return ok && s.Shared()
}
