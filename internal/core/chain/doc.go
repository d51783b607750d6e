// Package chain decides how items move along the steps of a bulk action: which block a
// step cuts its next task from and for how long one waits for more of its items ([Queue]),
// how much may be ready before a step makes the one before it wait ([Room]), what a bulk
// action's own rate lets start ([Pace]), and what becomes of a task that failed as a
// whole ([AfterFailure]).
//
// The engine's partitions and the model that forecasts them use the same rules, so a
// forecast cannot drift from the engine.
//
// The package is pure. What it decides on belongs to one goroutine.
package chain
