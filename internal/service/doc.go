// Package service is what a weir server does, without HTTP: drafts and their
// items, the registry of actions, verbs, lookups, reports. The API and whatever
// else serves people call it.
//
// It keeps its own things as single records (package records): a draft is a
// record and a log of parts, and one compare-and-swap decides each question.
// What was submitted belongs to the engine.
package service
