// Package vault protects secrets: sealed where they are stored, unreadable where they are printed.
//
// A [Vault] seals with AES-256-GCM. A sealed secret names its key and opens only in the place it
// was sealed for: copied into another record, or with a single bit changed, it does not open.
// Several keys may be in use, so that a new key can take over while secrets of older keys remain.
// Keys never seal directly: each purpose has a key derived from them.
//
// A [Secret] is a text that no format verb, encoder or logger shows.
package vault
