// Command plots draws the figures of docs/plots from the real core in virtual time.
//
// Same sources, same files: nothing here asks for the time or for chance, so that
// a second run changes no byte.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/internal/lab/model"
)

func main() {
	out := flag.String("out", filepath.Join("..", "..", "docs", "plots"), "directory to write to")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// run draws every figure as SVG and PNG, and says what a title claims that the data do not show.
func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range all() {
		if err := f.holds(); err != nil {
			return err
		}
		svg, png, err := f.draw()
		if err != nil {
			return fmt.Errorf("draw %s: %w", f.name, err)
		}
		for ext, data := range map[string][]byte{".svg": svg, ".png": png} {
			if err := os.WriteFile(filepath.Join(dir, f.name+ext), data, 0o644); err != nil {
				return err
			}
		}
		fmt.Println(f.name+":", f.title)
	}
	return nil
}

// all lists the figures in the order of docs/plots.md.
func all() []figure {
	return append(loads(), article(), incident(), flowControl(), small(), tiers(), tenants(), rates())
}

// must returns what a world, a shape or a policy of the program itself gives: an error is a mistake here.
func must[T any](x T, err error) T {
	if err != nil {
		panic("plots: " + err.Error())
	}
	return x
}

// scenario returns one of the built-in worlds.
func scenario(name string) model.World {
	w, ok := model.ByName(name)
	if !ok {
		panic("plots: there is no scenario " + name)
	}
	return w
}
