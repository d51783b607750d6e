package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// Args wants so many arguments.
func Args(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		if len(args) < low {
			return BadUsage("usage: "+cmd.UseLine(), "%s is missing", what)
		}
		return BadUsage("usage: "+cmd.UseLine(), "%q is one argument too many", args[high])
	}
}

// BulkID requires the id of a bulk action, and explains it to a caller who gives a name.
func BulkID(cmd *cobra.Command, args []string) error {
	if err := Args(1, 1, "ID")(cmd, args); err != nil {
		return err
	}
	if !strings.HasPrefix(args[0], "ba_") {
		return BadUsage(cmd.Root().Name()+" list shows the ids", "%q is not the id of a bulk action: ids begin with ba_", args[0])
	}
	return nil
}
