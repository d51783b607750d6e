package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const surfaceFile = "testdata/surface.txt"

// A change of the public packages is seen in the diff of one file. UPDATE=1 writes it anew.
func TestTheSurfaceIsTheOneThatWasAgreedOn(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	module, _, err := readModule(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs := make([]string, len(Public))
	for i, dir := range Public {
		dirs[i] = "./" + dir
	}
	e, err := listExports(root, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := loadPublic(module, e)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range packages {
		mustHold(t, CheckSurface(module, p))
		got = append(got, Surface(p)...)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(surfaceFile, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(surfaceFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(raw)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("new or changed: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("gone: %s", line)
		}
	}
	if t.Failed() {
		t.Log("if that is meant, run UPDATE=1 go test ./internal/testkit/archtest -run Surface and say so in CHANGELOG.md")
	}
}

// planted type-checks two packages: internal/secret, and public, which may import it.
func planted(t *testing.T, public string) *types.Package {
	t.Helper()
	fset, done := token.NewFileSet(), known{}
	for _, p := range []struct{ path, text string }{
		{"example.test/weir/internal/secret", "package secret; type T struct{}; type I interface{ M() }; func (T) Shown() {}"},
		{"example.test/weir/public", "package public; import \"example.test/weir/internal/secret\"; var _ secret.T\n" + public},
	} {
		f, err := parser.ParseFile(fset, "a.go", p.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		conf := types.Config{Importer: done}
		if done[p.path], err = conf.Check(p.path, fset, []*ast.File{f}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return done["example.test/weir/public"]
}

// known imports the packages that were checked before.
type known map[string]*types.Package

func (k known) Import(path string) (*types.Package, error) {
	if p := k[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

func TestAnInternalTypeInASignatureIsFound(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a field that users do not see", "type A struct{ of *secret.T }", nil},
		{"a parameter that they do not see", "func a(secret.T) {}; type A struct{}; func (A) a(secret.T) {}", nil},
		{"a parameter", "func A(x *secret.T) {}", []string{"public func A(x *internal/secret.T): shows an internal type"}},
		{"a result of a method", "type A struct{}; func (*A) B() ([]secret.T, error) { return nil, nil }", []string{"public method (*A).B() ([]internal/secret.T, error): shows"}},
		{"a field", "type A struct{ B map[string]secret.T }", []string{"public field A.B map[string]internal/secret.T: shows"}},
		{"an embedded type", "type A struct{ secret.T }", []string{"public field A.T internal/secret.T: shows"}},
		{"a function in a function", "var A func(func(secret.T))", []string{"public var A func(func(internal/secret.T)): shows"}},
		{"an alias", "type A = secret.T", []string{"public type A = internal/secret.T: shows"}},
		{"a constraint", "func A[T secret.I](T) {}", []string{"public func A[T internal/secret.I](T): shows"}},
		{"a type argument", "type B[T any] struct{}; func A() B[secret.T] { return B[secret.T]{} }", []string{"public func A() B[internal/secret.T]: shows"}},
		{"a method of an interface", "type A interface{ B(chan secret.T) }", []string{"public type A interface{B(chan internal/secret.T)}: shows"}},
		{"a variable", "var A secret.T", []string{"public var A internal/secret.T: shows"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustFind(t, CheckSurface("example.test/weir", planted(t, tt.text)), tt.want...)
		})
	}
}

func TestTheSurfaceHasEveryExportedName(t *testing.T) {
	got := Surface(planted(t, `
const A = 1
var B, b int
type C[T any] struct { D T; d int }
func (*C[T]) E(x int) error { return nil }
func (C[T]) f() {}
type G interface{ H() }
type I = int
func J[T any](x ...T) (n int) { return 0 }
func k() {}
`))
	want := []string{
		"public const A untyped int", "public var B int", "public type C[T any] struct", "public field C.D T", "public method (*C).E(x int) error",
		"public type G interface{H()}", "public type I = int", "public func J[T any](x ...T) (n int)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("surface:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
