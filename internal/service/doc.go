// Package service brings the nouns of a server together, without HTTP: each has a package below.
//
//	registry  actions, connections and templates
//	chain     the steps of bulk actions, made from actions
//	draft     bulk actions that are not submitted yet
//	bulk      all bulk actions, and commands for them
//	outlook   forecasts, times left and simulations
//	watch     progress and streams of events
//	result    items, reports, failed items, retries and undo
//	fleet     nodes, resources, tenants and scaling
//	schedule  bulk actions by the clock
//	callback  events to users' systems
//	due       how schedules, deliveries and drafts wait for their time
//	access    API keys and the audit log
//
// All keep their data as single records (package records), and one compare-and-swap decides each
// question. Submitted bulk actions belong to the engine.
package service
