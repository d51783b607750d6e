// Package chart draws charts as SVG that a style sheet gives its colours. A chart is complete
// without script: it has a title, a description and a table of its values.
package chart
