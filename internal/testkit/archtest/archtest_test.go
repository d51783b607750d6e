package archtest

import (
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository loads the tree that this test belongs to.
func repository(t *testing.T) *Tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	module, _, err := readModule(root)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(root, module)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 2 {
		t.Fatalf("found %d packages below %s: the walk is broken", len(tree.Packages), root)
	}
	return tree
}

// mustHold fails the test once per violation.
func mustHold(t *testing.T, vs []Violation) {
	t.Helper()
	for _, v := range vs {
		t.Error(v)
	}
}

// mustFind wants exactly one violation per phrase, in the same order. Each
// phrase is a part of the line that would be printed.
func mustFind(t *testing.T, vs []Violation, phrases ...string) {
	t.Helper()
	var got []string
	for _, v := range vs {
		got = append(got, v.String())
	}
	if !slices.EqualFunc(got, phrases, strings.Contains) {
		t.Errorf("violations:\n\t%s\nwant one for each of:\n\t%s",
			strings.Join(got, "\n\t"), strings.Join(phrases, "\n\t"))
	}
}

// plant parses sources, given as name and text in turn, into a tree of module example.test/weir.
func plant(t *testing.T, nameAndText ...string) *Tree {
	t.Helper()
	tree := &Tree{Module: "example.test/weir"}
	fset := token.NewFileSet()
	for pair := range slices.Chunk(nameAndText, 2) {
		f, err := parse(fset, pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(pair[0]))
		i := slices.IndexFunc(tree.Packages, func(p *Package) bool { return p.Dir == dir })
		if i < 0 {
			i, tree.Packages = len(tree.Packages), append(tree.Packages, &Package{Dir: dir})
		}
		tree.Packages[i].Files = append(tree.Packages[i].Files, f)
	}
	return tree
}
