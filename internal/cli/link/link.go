// Package link connects a command to the API: over HTTP to a server, or without a socket to a node of this process
// on a data directory. The commands cannot tell the two apart, except where a run keeps more than a server does.
package link

import (
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/local"
)

// Link is a command's way to a server, or to the node of this process.
type Link struct {
	*command.Printer
	*client.Client
	Flag  string      // that leads there again, for commands to be repeated
	Local *local.Node // nil: a server
}
