// Package story runs tests that are written as text: commands, a line of dashes, and the answers.
// A reviewer reads the difference of the answers; -update writes them.
package story

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the answers of the stories instead of comparing them")

// Do runs a command and returns its answer; empty: none.
type Do func(command string, a Args) string

// Run runs every story of testdata. A story is made of blocks with an empty line between them;
// lines that begin with # are comments. begin returns the commands of one story.
func Run(t *testing.T, begin func(t *testing.T) Do) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { run(t, file, begin(t)) })
	}
}

func run(t *testing.T, file string, do Do) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		in, want, _ := strings.Cut(block, "\n----")
		got := answers(in, do)
		if want = strings.TrimSpace(want); got != want && !*update {
			t.Errorf("block %d:\n%s\n---- got\n%s\n---- want\n%s", i+1, in, got, want)
		}
		fmt.Fprintf(&out, "%s\n----\n%s\n\n", in, got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func answers(in string, do Do) string {
	var out []string
	for line := range strings.Lines(in) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if answer := do(words[0], parse(words[1:])); answer != "" {
			out = append(out, answer)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "\n")
}

// Args holds the words of a command: key=value by key, the others in order.
type Args struct {
	named map[string]string
	Plain []string
}

func parse(words []string) Args {
	a := Args{named: map[string]string{}}
	for _, w := range words {
		if k, v, named := strings.Cut(w, "="); named {
			a.named[k] = v
		} else {
			a.Plain = append(a.Plain, w)
		}
	}
	return a
}

// Text returns the value of a key; empty: it was not given.
func (a Args) Text(key string) string { return a.named[key] }

// Int returns the number of a key, or otherwise.
func (a Args) Int(key string, otherwise int64) int64 {
	if a.named[key] == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(a.named[key], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s=%s is not a number", key, a.named[key]))
	}
	return n
}

// Duration returns the duration of a key; zero: it was not given.
func (a Args) Duration(key string) time.Duration {
	if a.named[key] == "" {
		return 0
	}
	d, err := time.ParseDuration(a.named[key])
	if err != nil {
		panic(err)
	}
	return d
}
