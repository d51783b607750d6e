// Command usersgen writes the users of the rewards example to a file.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/weirhq/weir/internal/cli/demo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "usersgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the file to write; got %d", len(args))
	}
	var b bytes.Buffer
	if err := demo.WriteUsers(&b); err != nil {
		return err
	}
	return os.WriteFile(args[0], b.Bytes(), 0o644)
}
