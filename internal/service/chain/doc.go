// Package chain turns the steps of a bulk action into steps that the engine can run.
//
// A chain is stored as text, which names actions and the expressions that make their input. The
// registry resolves the actions when a task runs, so a changed action applies to running bulk
// actions, too. Expressions have no side effects: evaluated again, also by another node and for an
// undo, they give the same result.
package chain
