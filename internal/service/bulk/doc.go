// Package bulk shows bulk actions as the API does, drafts and submitted ones alike, and gives them
// commands: start, pause, resume, cancel, change, clone, preview and trial.
//
// A command is durable when it is accepted. The response waits for its effect for a second at most.
package bulk
