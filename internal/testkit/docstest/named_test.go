package docstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
)

// testsIn lists all test functions of the repository.
func testsIn(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(raw), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryTestThatThePageOnSecurityNamesIsThere(t *testing.T) {
	page, found := Read(t, "docs/security.md"), testsIn(t, Root(t))
	names := testName.FindAllStringSubmatch(page, -1)
	if len(names) < 40 {
		t.Fatalf("the page names %d tests: the search is broken", len(names))
	}
	for _, m := range names {
		if !found[m[1]] {
			t.Errorf("docs/security.md names %s, which there is not", m[1])
		}
	}
}

func TestEveryRequirementHasATest(t *testing.T) {
	rows := map[string]string{}
	for line := range strings.SplitSeq(Read(t, "docs/security.md"), "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| S") && len(cells) == 4 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells[3]
		}
	}
	for i := 1; i <= 17; i++ {
		name := "S" + strconv.Itoa(i)
		if cell := rows[name]; !testName.MatchString(cell) {
			t.Errorf("%s names no test: %q", name, cell)
		}
	}
}
