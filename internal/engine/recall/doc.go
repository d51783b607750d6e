// Package recall remembers what the store has acknowledged to this process lately, to put it back if the store loses it.
//
// A store that is a [store.Witness] can be set back while it is in use, as when a replica that lags takes over. For ten
// seconds and within a bound of bytes, [Past] remembers the commits of each partition that this process owned, and the
// submits and commands that it sent. The owner puts commits back, in order and with its own token, before it writes
// anything else. Who submitted puts submits and commands in again. What cannot be put back is a *[weir.LossError]: it is
// never passed over in silence.
package recall
