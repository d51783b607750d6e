package archtest

import "testing"

func TestHouseRulesHold(t *testing.T) {
	mustHold(t, CheckHouse(repository(t)))
}

func TestHouseRulesFindPlantedBreaches(t *testing.T) {
	const doc = "// Package p is for tests.\npackage p\n"
	for _, tt := range []struct {
		name string
		file string
		text string
		want []string
	}{
		{"a package that says what it is for", "p/p.go", doc, nil},
		{"a package without a comment", "p/p.go", "package p", []string{"no package comment"}},
		{"a comment that does not begin as expected", "p/p.go", "// This is p.\npackage p", []string{"no package comment"}},
		{"a licence is not a package comment", "p/p.go", "// Copyright.\n\npackage p", []string{"no package comment"}},
		{"a program may begin with its name", "p/p.go", "// p runs.\npackage main", nil},
		{"a vague name", "p/util/p.go", "// Package util is a heap.\npackage util", []string{"called util"}},
		{"a vague directory", "p/helpers/p.go", doc, []string{"called helpers"}},
		{"an init", "p/p.go", doc + "func init() {}", []string{"p/p.go:3: init"}},
		{"a method called init is fine", "p/p.go", doc + "type t int\nfunc (t) init() {}", nil},
		{"a context out of nothing", "p/p.go", doc + `import "context"; var c = context.Background()`, []string{"context.Background"}},
		{"a context to be thought of", "p/p.go", doc + `import c "context"; var x = c.TODO()`, []string{"context.TODO"}},
		{"a program begins its context", "p/p.go", "// p runs.\npackage main\n" + `import "context"; var c = context.Background()`, nil},
		{"an example begins its context", "examples/p/p.go", doc + `import "context"; var c = context.Background()`, nil},
		{"a test that is skipped", "p/p_test.go", doc + "func TestX(t *testing.T) { t.Skip() }", []string{"t.Skip"}},
		{"a case that is skipped", "p/p_test.go", doc + "func TestX(t *testing.T) { t.Run(``, func(tt *testing.T) { tt.Skipf(``) }) }", []string{"tt.Skipf"}},
		{"a helper that skips", "p/p.go", doc + "func need(tb testing.TB) { tb.SkipNow() }", []string{"tb.SkipNow"}},
		{"a draw that is dropped is fine", "p/p_test.go", doc + "func TestX(t *testing.T) { rapid.Check(t, func(r *rapid.T) { r.Skip() }) }", nil},
		{"a value that a decoder skips is fine", "p/p.go", doc + "func f(d decoder) { d.SkipValue() }", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustFind(t, CheckHouse(plant(t, tt.file, tt.text)), tt.want...)
		})
	}
}

func TestOneCommentPerPackageIsEnough(t *testing.T) {
	mustFind(t, CheckHouse(plant(t,
		"p/a.go", "package p",
		"p/b.go", "// Package p is for tests.\npackage p",
		"p/a_test.go", "package p_test\nimport \"context\"\nvar c = context.Background()",
	)))
}
