package archtest

import (
	"slices"
	"testing"
)

func TestEveryDependencyHasAReason(t *testing.T) {
	tree := repository(t)
	_, direct, err := readModule(tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, CheckDeps(direct, Deps))
	mustHold(t, CheckForeign(tree, Deps))
}

func TestDependencyTableIsInOrderAndComplete(t *testing.T) {
	var modules []string
	for _, d := range Deps {
		if d.Why == "" {
			t.Errorf("%s has no reason", d.Module)
		}
		modules = append(modules, d.Module)
	}
	if !slices.IsSorted(modules) {
		t.Errorf("archtest.Deps is not sorted by module: %q", modules)
	}
}

func TestDependencyRuleFindsAPlantedRequirement(t *testing.T) {
	root := write(t, "go.mod", `module example.test/weir

go 1.26.0

require example.test/known v1.0.0

require (
	example.test/new v1.0.0
	example.test/far v1.0.0 // indirect
)
`)
	module, direct, err := readModule(root)
	if err != nil {
		t.Fatal(err)
	}
	if module != "example.test/weir" {
		t.Errorf("module = %q, want example.test/weir", module)
	}
	known := []Dep{{"example.test/known", "for tests", nil}, {"example.test/gone", "for tests", nil}}
	mustFind(t, CheckDeps(direct, known), "requires example.test/new", "example.test/gone is not required by go.mod")
}

func TestDependencyRuleFindsPlantedImports(t *testing.T) {
	deps := []Dep{
		{"example.test/panel", "for the terminal", []string{"internal/cli/..."}},
		{"example.test/props", "for tests", nil},
	}
	for _, tt := range []struct {
		name string
		file string
		imp  string
		want []string
	}{
		{"where it belongs", "internal/cli/a.go", "example.test/panel", nil},
		{"a package of the module", "internal/cli/sub/a.go", "example.test/panel/key", nil},
		{"where it does not belong", "internal/engine/a.go", "example.test/panel", []string{"not for internal/engine"}},
		{"for tests only, in a test", "internal/engine/a_test.go", "example.test/props", nil},
		{"for tests only, in code", "internal/engine/a.go", "example.test/props", []string{"not for internal/engine"}},
		{"of no known module", "internal/engine/a_test.go", "example.test/panels", []string{"of no module"}},
		{"the standard library", "internal/engine/a.go", "net/http", nil},
		{"our own", "internal/engine/a.go", "example.test/weir/store", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := plant(t, tt.file, "package p\nimport _ \""+tt.imp+"\"")
			mustFind(t, CheckForeign(tree, deps), tt.want...)
		})
	}
}
