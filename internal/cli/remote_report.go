package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// download writes the report of a server's bulk action: report.json and a file for each way to end.
func (l *link) download(ctx context.Context, id, dir, format string) error {
	r, err := l.Report(ctx, id)
	if err != nil {
		return err
	}
	if dir == "" {
		return printJSON(l.env, r)
	}
	at := l.env.path(dir)
	if err := probe(at); err != nil {
		return badUsage("choose another folder with -d", "-d: %v", err)
	}
	if format == "" {
		format = "csv"
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	for _, state := range []string{"done", "failed", "cancelled"} {
		name := state + "." + format
		if err := l.results(ctx, id, state, format, filepath.Join(at, name)); err != nil {
			return fmt.Errorf("%s: %w", shown(dir, name), err)
		}
		fmt.Fprintln(l.env.Stdout, shown(dir, name))
	}
	if err := replaceFile(filepath.Join(at, "report.json"), append(raw, '\n')); err != nil {
		return other(err, "")
	}
	fmt.Fprintln(l.env.Stdout, shown(dir, "report.json"))
	return nil
}

// results downloads to a file that is there when it is whole.
func (l *link) results(ctx context.Context, id, state, format, path string) error {
	from, err := l.Results(ctx, id, state, format)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
	}
	return err
}
