// Command write writes the dashboards into deploy/grafana. A second run changes no byte.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/internal/lab/grafana"
)

func main() {
	dir := flag.String("to", "deploy/grafana", "directory of the files")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	for _, d := range grafana.All() {
		text, err := d.JSON()
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, d.Name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
