// Package outlook predicts how bulk actions run: forecasts before the start, the time left while they
// run, and simulations of changed conditions.
//
// It runs the real scheduler in virtual time (packages forecast and model) against the present load.
// A prediction changes nothing, and its cost is bounded.
package outlook
