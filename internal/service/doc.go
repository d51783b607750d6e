// Package service implements a weir server without HTTP: drafts and their items, the registry of
// actions, commands, lookups and reports. The API and the other user interfaces call it.
//
// It keeps its own data as single records (package records): a draft is a record and a log of
// parts, and one compare-and-swap decides each question. Submitted bulk actions belong to the
// engine.
package service
