package archtest

import (
	"slices"
	"strings"
	"testing"
)

func TestImportsGoOneWay(t *testing.T) {
	tree := repository(t)
	mustHold(t, CheckImports(tree, Rows))
	mustHold(t, CheckStale(tree, Rows))
	mustHold(t, CheckFace(tree))
}

func TestAnImportOfTheFaceFromInsideIsFound(t *testing.T) {
	for file, want := range map[string][]string{
		"internal/cli/a.go":      {"engine is for users"},
		"internal/cli/a_test.go": {"engine is for users"},
		"weirtest/a.go":          nil,
	} {
		mustFind(t, CheckFace(plant(t, file, `package a; import "example.test/weir/engine"`)), want...)
	}
	mustFind(t, CheckFace(plant(t, "internal/engine/a.go", `package engine; import "example.test/weir/operate"`)), "operate is for users")
}

func TestARowWithoutAPackageIsFound(t *testing.T) {
	tree := plant(t, "store/store.go", "package store")
	mustFind(t, CheckStale(tree, []Row{{Dir: "store"}}))
	mustFind(t, CheckStale(tree, []Row{{Dir: "store"}, {Dir: "internal/gone"}}), "no package: remove the row")
}

func TestImportRuleFindsPlantedImports(t *testing.T) {
	for _, tt := range []struct {
		name string
		file string
		text string
		want []string
	}{
		{"the words take the standard library", "doc.go", `package weir; import "time"`, nil},
		{"the words take nothing else of ours", "doc.go", `package weir; import "example.test/weir/store"`, []string{"must not import store"}},
		{"the words take no module", "doc.go", `package weir; import "example.test/other"`, []string{"standard library only"}},
		{"the engine takes the contract", "internal/engine/a.go", `package engine; import "example.test/weir/store"`, nil},
		{"the engine takes no backend", "internal/engine/a.go", `package engine; import "example.test/weir/store/pebblestore"`, []string{"internal/engine must not import store/pebblestore"}},
		{"a test of the engine may", "internal/engine/a_test.go", `package engine; import "example.test/weir/store/pebblestore"`, nil},
		{"the engine takes no surface", "internal/engine/a.go", `package engine; import "example.test/weir/internal/server"`, []string{"internal/engine must not import internal/server"}},
		{"a backend takes no engine", "store/memstore/a.go", `package memstore; import "example.test/weir/internal/engine"`, []string{"must not import internal/engine"}},
		{"the server takes a backend", "internal/cli/serve/serve.go", `package serve; import "example.test/weir/store/pebblestore"`, nil},
		{"the program takes the command line alone", "cmd/weir/main.go", `package main; import "example.test/weir/internal/engine"`, []string{"cmd/weir must not import internal/engine"}},
		{"the scheduler takes the limits", "internal/core/sched/a.go", `package sched; import "example.test/weir/internal/core/limit"`, nil},
		{"the limits do not take the scheduler", "internal/core/limit/a.go", `package limit; import "example.test/weir/internal/core/sched"`, []string{"internal/core/limit must not import internal/core/sched"}},
		{"the scheduler does not take the contract", "internal/core/sched/a.go", `package sched; import "example.test/weir/store"`, []string{"internal/core/sched must not import store"}},
		{"the partition takes the contract and says so", "internal/core/partition/a.go", "// Package partition fills a store batch.\npackage partition; import \"example.test/weir/store\"", nil},
		{"the partition takes the contract in silence", "internal/core/partition/a.go", "// Package partition decides.\npackage partition; import \"example.test/weir/store\"", []string{"without saying so"}},
		{"an example sees what a user sees", "examples/rewards/main.go", `package main; import "example.test/weir/internal/engine"`, []string{"must not import internal/engine"}},
		{"the face takes the engine", "engine/a.go", `package engine; import "example.test/weir/internal/engine"`, nil},
		{"the engine does not take the face", "internal/engine/a.go", `package engine; import "example.test/weir/operate"`, []string{"internal/engine must not import operate"}},
		{"a new package needs a row", "internal/novel/a.go", `package novel`, []string{"has no row"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustFind(t, CheckImports(plant(t, tt.file, tt.text), Rows), tt.want...)
		})
	}
}

// Without this, a row could allow a way back and the picture would be a tangle.
func TestTableHasNoCircle(t *testing.T) {
	for _, a := range Rows {
		for _, b := range Rows {
			if a.Dir != b.Dir && coversAny(a.May, b.Dir) && coversAny(b.May, a.Dir) && !everything(a) && !everything(b) {
				t.Errorf("%s and %s may import each other", a.Dir, b.Dir)
			}
		}
	}
}

func everything(r Row) bool { return slices.Contains(r.May, "...") }

func TestNoRowLetsTheEngineReachABackend(t *testing.T) {
	for _, r := range Rows {
		if !slices.Contains(middle, r.Dir) && !slices.Contains(Core, r.Dir) {
			continue
		}
		for _, b := range Backends {
			if coversAny(r.May, b) {
				t.Errorf("row %s allows backend %s", r.Dir, b)
			}
		}
	}
}

func TestEveryRowIsAskedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows {
		dir := strings.TrimSuffix(r.Dir, "/...")
		if seen[dir] {
			t.Errorf("two rows for %s: only the first would count", dir)
		}
		seen[dir] = true
	}
}
