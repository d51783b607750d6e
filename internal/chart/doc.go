// Package chart draws every chart of weir as SVG: those of the pages, and the figures of the documentation.
//
// A [Series], a stack or a spark is a part of a page, whose style sheet gives it its colours. A [Figure] is a file of its
// own and carries its colours, for light and for dark pages. Both use the same axes, paths and colours.
//
// A chart is complete without script: it has a title and a description, and a series has a table of its values.
package chart
