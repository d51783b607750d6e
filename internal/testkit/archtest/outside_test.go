package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const outside = "../outside"

// It needs no network: the modules that it needs are those of this one, which are in the cache.
func TestTheLibraryWorksFromAnotherModule(t *testing.T) {
	mod := filepath.Join(t.TempDir(), "outside.mod")
	for from, to := range map[string]string{
		filepath.Join(outside, "go.mod"): mod,
		"../../../go.sum":                strings.TrimSuffix(mod, "mod") + "sum",
	} {
		raw, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-C", outside, "-count=1", "-vet=all", "-ldflags=-s", "-mod=mod", "-modfile="+mod, "./...")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test of internal/testkit/outside: %v\n%s", err, out)
	}
}

func TestEveryFunctionOfTheLibraryIsUsedFromAnotherModule(t *testing.T) {
	list, err := os.ReadFile(surfaceFile)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(outside, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("tests of internal/testkit/outside: %v, %v", files, err)
	}
	var code strings.Builder
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(raw)
	}
	n := 0
	for _, found := range callables(string(list)) {
		if n++; !strings.Contains(code.String(), "."+found[1]+"(") {
			t.Errorf("%s: nothing in internal/testkit/outside calls %s", found[0], found[1])
		}
	}
	if n < 50 {
		t.Errorf("only %d functions and methods are in %s: the pattern is wrong", n, surfaceFile)
	}
}

// callables returns package and name of the functions and methods of the library.
func callables(list string) (out [][2]string) {
	for line := range strings.Lines(list) {
		pkg, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, rest, _ := strings.Cut(rest, " ")
		if pkg != "engine" && pkg != "operate" && pkg != "report" && pkg != "server" || kind != "func" && kind != "method" {
			continue
		}
		if kind == "method" { // (*T).Name(…) or T.Name(…)
			_, rest, _ = strings.Cut(rest, ".")
		}
		out = append(out, [2]string{pkg, rest[:strings.IndexAny(rest, "([")]})
	}
	return out
}
