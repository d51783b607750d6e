// All runs the experiments whole, prints one line for each target, and writes the
// lines into docs/experiments.md.
//
//	go run ./internal/lab/experiment/all            all of them, but those in real time
//	go run ./internal/lab/experiment/all -only E3   one of them, in real time or not
//	go run ./internal/lab/experiment/all -small     as the tests run them; nothing is written
//
// It fails if a target is missed of which that was not known.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/lab/experiment"
)

func main() {
	only := flag.String("only", "", "run only these, as E7 or E1,E2; the others keep their lines in the document")
	small := flag.Bool("small", false, "run as the tests do, and write no document")
	doc := flag.String("doc", "docs/experiments.md", "the document to write the lines into")
	flag.Parse()
	size := experiment.Whole
	if *small {
		size = experiment.Small
	}
	chosen, err := choose(experiment.All(), *only)
	if err != nil {
		fail(err)
	}
	rows, bad := run(os.Stdout, chosen, size, time.Now())
	if !*small {
		if err := rewrite(*doc, order(experiment.All()), rows); err != nil {
			fail(err)
		}
	}
	if bad > 0 {
		fail(fmt.Errorf("%d lines are worse than what is known to hold", bad))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "all:", err)
	os.Exit(1)
}

// choose returns the experiments that are named, or all but those in real time.
func choose(all []experiment.Experiment, only string) (chosen []experiment.Experiment, err error) {
	known := map[string]experiment.Experiment{}
	for _, e := range all {
		known[e.ID] = e
		if only == "" && !e.Real {
			chosen = append(chosen, e)
		}
	}
	if only == "" {
		return chosen, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		e, ok := known[strings.TrimSpace(name)]
		if !ok {
			return nil, fmt.Errorf("-only names %q, which is not an experiment: take one of %s", name, strings.Join(order(all), ", "))
		}
		chosen = append(chosen, e)
	}
	return chosen, nil
}

// order lists the experiments' names.
func order(all []experiment.Experiment) (ids []string) {
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}

// run runs experiments and returns the rows of each, and how many lines do not stand.
func run(out io.Writer, chosen []experiment.Experiment, size experiment.Size, now time.Time) (rows map[string][]string, bad int) {
	rows = map[string][]string{}
	for _, e := range chosen {
		begin := time.Now()
		lines := e.Run(size)
		fmt.Fprintf(out, "%s: %s (%.1f s)\n", e.ID, e.Name, time.Since(begin).Seconds())
		for _, l := range lines {
			fmt.Fprintln(out, " ", l)
			rows[e.ID] = append(rows[e.ID], row(e, l, now))
			if !l.Stands() {
				bad++
			}
		}
	}
	return rows, bad
}
