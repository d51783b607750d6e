package storetest

import "github.com/weirhq/weir/store"

// Shared passes on whether several processes can use the store at once.
func (f *Flaky) Shared() bool {
	s, ok := f.Store.(store.Sharing)
	return ok && s.Shared()
}
