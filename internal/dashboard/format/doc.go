// Package format writes numbers, durations and times as people read them. Pages, and nothing but
// pages, use it: the API has its own formats.
package format
