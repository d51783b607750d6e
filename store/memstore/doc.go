// Package memstore keeps everything in memory: the reference backend.
//
// It holds every promise of package store except outliving the process, and
// serves tests, the simulation, and whoever wants to try weir without a disk.
// Given the same calls and the same clock it gives the same answers, tokens
// included, so a simulation on it replays from a seed.
package memstore
