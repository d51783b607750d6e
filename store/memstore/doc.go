// Package memstore keeps everything in memory. It is the reference backend.
//
// It keeps every promise of package store except outliving the process. It serves tests, the
// simulation, and users who want to try weir without a disk. Given the same calls and the same
// clock it gives the same answers, tokens included, so a simulation on it replays from a seed.
package memstore
