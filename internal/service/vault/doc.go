// Package vault keeps secrets: sealed where they are stored, unreadable where they
// are printed.
//
// A [Vault] seals with AES-256-GCM. What it returns names the key that was used
// and can be opened only where it was sealed for: a sealed secret that is copied
// into another record does not open there, and neither does one of which a single
// bit was changed. Several keys may be in use, so that a new one can take over
// while what older ones sealed is still there. Keys never seal by themselves: each
// purpose has a key derived from them.
//
// A [Secret] is a text that no format verb, no encoder and no logger shows.
package vault
