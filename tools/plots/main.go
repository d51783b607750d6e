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
	figures, err := all()
	if err != nil {
		return err
	}
	for _, f := range figures {
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
func all() ([]figure, error) {
	var figures []figure
	for _, some := range []func() ([]figure, error){loads, article, incident, flowControl, small, shares, rates} {
		drawn, err := some()
		if err != nil {
			return nil, err
		}
		figures = append(figures, drawn...)
	}
	return figures, nil
}
