package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repo writes a small repository and returns its root.
func repo(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":      "# weir\n\nSee [the guide](docs/guide.md#what-it-does).\n",
		"docs/README.md": "# Documentation\n\n## Use it\n\n| I want to | page |\n|---|---|\n| start | [guide.md](guide.md) |\n",
		"docs/guide.md":  "# Guide: all of it\n\n## What it does\n\n![a picture](a.svg) and [code](../main.go).\n\n## `weir serve`, and more\n\ncircuit\n",
		"docs/a.svg":     "<svg/>",
		"main.go":        "package main",
	} {
		if other, ok := files[name]; ok {
			text = other
		}
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestASiteIsBuilt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	s, err := Build(repo(t, map[string]string{}), out)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "docs", "guide.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<h2 id="weir-serve-and-more">`, `src="a.svg"`, `href="` + repository + `blob/main/main.go"`, `<h2>Use it</h2>`,
		`<a href="../docs/guide.html" aria-current="page">Guide</a>`, `<a href="#what-it-does">What it does</a>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(out, "index.html")); err != nil || !strings.Contains(string(raw), `href="docs/guide.html#what-it-does"`) {
		t.Errorf("the first page has no link to the guide: %v\n%s", err, raw)
	}
	if _, err := os.Stat(filepath.Join(out, "docs", "a.svg")); err != nil {
		t.Errorf("the picture is not there: %v", err)
	}
	found := false
	for _, one := range s.index {
		found = found || one.Path == "docs/guide.html#weir-serve-and-more" && one.Text == "circuit" && one.Heading == "weir serve, and more"
	}
	if !found {
		t.Errorf("the index has no section with circuit: %+v", s.index)
	}
}

func TestABuildFailsForWhatLeadsNowhere(t *testing.T) {
	for name, text := range map[string]string{
		"a page":               "# A\n\n[x](nothing.md)\n",
		"an anchor":            "# A\n\n[x](guide.md#nothing)\n",
		"an anchor of its own": "# A\n\n[x](#nothing)\n",
		"a picture":            "# A\n\n![x](nothing.png)\n",
		"a file":               "# A\n\n[x](../nothing.go)\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := repo(t, map[string]string{"docs/other.md": text, "docs/README.md": "# D\n\n## Use it\n\n[a](guide.md) [b](other.md)\n"})
			if _, err := Build(root, filepath.Join(t.TempDir(), "site")); err == nil || !strings.Contains(err.Error(), "nothing") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	root := repo(t, map[string]string{"docs/other.md": "# A\n"})
	if _, err := Build(root, filepath.Join(t.TempDir(), "site")); err == nil || !strings.Contains(err.Error(), "docs/other.md") {
		t.Errorf("a page that the navigation does not have: the error is %v", err)
	}
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	a := &anchors{taken: map[string]bool{}}
	for _, tt := range []struct{ heading, want string }{
		{"Start later, canary, stop rules, rates", "start-later-canary-stop-rules-rates"},
		{"`tls.cert` and redis_spread", "tlscert-and-redis_spread"},
		{"What it does – and why", "what-it-does--and-why"},
		{"Limits", "limits"},
		{"Limits", "limits-1"},
	} {
		if got := string(a.Generate([]byte(tt.heading), 0)); got != tt.want {
			t.Errorf("anchor of %q = %s, want %s", tt.heading, got, tt.want)
		}
	}
}
