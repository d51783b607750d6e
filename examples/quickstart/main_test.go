package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// Example runs the program as it is in the README, in a folder of its own.
func Example() {
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	var warnings strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelWarn})))
	defer slog.SetDefault(before)
	main()
	fmt.Print(warnings.String())
	// Output: done 1000 failed 0
}

func TestReadmeShowsThisProgram(t *testing.T) {
	source := read(t, "main.go")
	from, until := strings.Index(source, "var greet"), strings.Index(source, "func main(")
	readme := read(t, "../../README.md")
	if !strings.Contains(readme, strings.TrimSpace(source[from:until])) {
		t.Error("the Go example in README.md is not the one in examples/quickstart/main.go, from var greet to the end of run")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
