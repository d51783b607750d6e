package main

import (
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
	main()
	// Output: done 1000 failed 0
}

func TestReadmeShowsThisProgram(t *testing.T) {
	source := read(t, "main.go")
	from, until := strings.Index(source, "var greet"), strings.Index(source, "func users(")
	readme := read(t, "../../README.md")
	if !strings.Contains(readme, strings.TrimSpace(source[from:until])) {
		t.Error("the Go example in README.md is not the one in examples/quickstart/main.go, from var greet to the end of main")
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
