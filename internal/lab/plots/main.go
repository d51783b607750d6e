// Command plots draws the figures of docs/plots from the real core in virtual time, and writes their values into
// docs/plots.md.
//
// Same sources, same files: nothing here asks for the time or for chance, so that a second run changes no byte.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/internal/lab/model"
)

func main() {
	docs := flag.String("docs", "docs", "directory of the documentation")
	flag.Parse()
	if err := run(*docs); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// run draws every figure, and says what a title claims that the data do not show.
func run(docs string) error {
	figures := all()
	for i := range figures {
		f := &figures[i]
		if err := f.holds(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(docs, "plots", f.name+".svg"), f.SVG(), 0o644); err != nil {
			return err
		}
		fmt.Println(f.name+":", f.Title)
	}
	name := filepath.Join(docs, "plots.md")
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := withTables(string(page), figures)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// all lists the figures.
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
