// Package format writes numbers, durations and times as people read them. Pages and
// charts use it, and nothing else: the API has its own formats.
package format
