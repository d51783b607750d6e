package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLoad holds any file at all against what readers rely on: no panic, and each
// mistake with its place and what is wrong.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"listen: :8080\n", "a: &a\n", "a: *a\n", "redis: [redis://h, ]\n", "actions: {a: {url: |\n  x\n}}", "? a\n: b\n", "limits:\n", "- a\n", "!!str a: b\n",
		"tenants: {a: {weight: .nan}}\n", "stage: ${A}$${B}${\n", "egress: {allow: [10.0.0.0/8, !!x y]}\n", "listen: &x\n  - *x\n", "\"\": 1\n", "{[a]: b}\n", "a: b: c\n", "---\n---\n", "log: {ids: yes}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(Source{Path: path, Name: FileName, Dir: "/", Getenv: func(string) string { return "" }})
		var all *Errors
		if err == nil {
			s.Values()
			return
		}
		if !errors.As(err, &all) {
			t.Fatalf("err = %v, want *Errors", err)
		}
		for _, e := range all.List {
			if e.File == "" || e.Problem == "" {
				t.Errorf("a mistake without its place or what is wrong: %+v", e)
			}
		}
	})
}
