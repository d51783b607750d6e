// Command run checks that the simulation finds every planted bug. Its arguments are
// flags for go test. Run it in the root of the module.
package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/weirhq/weir/internal/lab/planted"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

func run(flags []string) error {
	bugs, err := planted.All()
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "planted-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := planted.Overlay(root, dir, bugs)
	if err != nil {
		return err
	}
	args := append([]string{"test", "-overlay", overlay, "-tags", "planted", "-run", "Planted"}, flags...)
	test := exec.Command("go", append(args, "./internal/lab/sim")...) //nolint:gosec // the flags come from the command line
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	return test.Run()
}
