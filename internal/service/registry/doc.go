// Package registry keeps what bulk actions are made of: actions, connections and templates.
//
// Actions and connections come from the program, from the configuration file, and from the API. A
// change over the API takes precedence over the file, on all nodes and across restarts, until it is
// deleted. Secrets are sealed before they are stored, and are never shown.
package registry
