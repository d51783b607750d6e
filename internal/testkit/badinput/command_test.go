package badinput

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli"
)

// commandRow is a case of the command line.
type commandRow struct {
	no   int
	name string
	file string // content of the file in, whose name the arguments may have
	args string
	says string // parts of what is printed, with | between them
}

func commandRows() []commandRow {
	const run = "run in --action demo.award --data data "
	return []commandRow{
		{4, "a file that is not UTF-8", "{\"id\":\"\xff\"}\n", run + "--format ndjson", "line 1, column|UTF-8"},
		{31, "no items", "id,a\n", run, "has no items|fix:"},
		{33, "a large item", "{\"id\":\"a\",\"x\":\"" + strings.Repeat("y", 300<<10) + "\"}\n", run, "line 1|at most 262144"},
		{34, "no id", "{\"id\":\"a\"}\n{\"x\":1}\n", run, "line 2|the id \"id\" is missing"},
		{35, "a long id", "id\n" + strings.Repeat("x", 300) + "\n", run, "line 2|at most 256"},
		{36, "an id twice", "id\na\nb\na\n", run + "--duplicates refuse", "line 4: duplicate id \"a\", first seen on line 2|fix:"},
		{37, "a broken line", "{\"id\":\"a\"}\n{\"id\":\"b\" x}\n", run, "line 2, column 11|nothing was accepted"},
		{42, "no header", "1,jane@example.com\n2,joe@example.com\n", run, "looks like data|fix:"},
		{43, "a column twice", "id,a,a\n1,2,3\n", run, "line 1|both named"},
		{44, "a wrong width", "id,a\n1\n", run, "line 2|1 cell, the header has 2"},
		{45, "an open quote", "id,a\n1,\"x\n", run, "line 2|never closed"},
		{46, "semicolons", "id;a\n1;2\n", run + "--delimiter ,", "looks ';'-separated"},
		{47, "no such column", "id,a\n1,2\n", run + "--id user", "no column \"user\"|choose one of id, a"},
		{48, "an unknown action", "id\na\n", "run in --action demo.awrad --data data", "did you mean demo.award?"},
		{56, "the tier urgent", "id\na\n", run + "--tier urgent", "write critical, high, default or low"},
		{65, "a timeout of nothing", "id\na\n", run + "--timeout 0s", "--timeout|above 0s and at most 24h"},
		{65, "a timeout of ten days", "id\na\n", run + "--timeout 240h", "at most 24h"},
		{66, "a million retries", "id\na\n", run + "--retries 1000000", "between 0 and 249"},
		{68, "a failure rate of 120%", "id\na\n", run + "--stop-failures 120%", "not above 0% and below 100%"},
		{70, "ftp", "id\na\n", "run in --url ftp://example.com --data data", "scheme \"ftp\" is not supported"},
		{101, "an unknown command", "", "rnu", "unknown command \"rnu\"|did you mean weir run?"},
		{101, "an unknown flag", "", run + "--actoin x", "unknown flag --actoin|did you mean --action?"},
		{101, "a missing argument", "", "run", "the input file is missing"},
		{101, "a file that is not there", "", "run none.csv --action demo.award --data data", "file not found"},
		{101, "a directory", "", "run . --action demo.award --data data", "is a directory"},
		{101, "an empty file", "", run, "in is empty"},
		{101, "a binary file", "PK\x03\x04rest", run, "spreadsheet or a zip archive"},
	}
}

func TestTheCommandLineTellsWhatAndHow(t *testing.T) {
	for _, r := range commandRows() {
		t.Run(fmt.Sprintf("%d %s", r.no, r.name), func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "in"), []byte(r.file), 0o600))
			var out, said bytes.Buffer
			env := cli.Env{
				Args: strings.Fields(r.args), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Dir: dir,
				Getenv: func(name string) string { return map[string]string{"HOME": dir, "NO_COLOR": "1"}[name] },
			}
			if code := cli.Main(t.Context(), env); code != 2 || out.Len() > 0 {
				t.Errorf("exit code %d, output %q; want 2 and none", code, &out)
			}
			for part := range strings.SplitSeq(r.says, "|") {
				if !strings.Contains(said.String(), part) {
					t.Errorf("%q is not said:\n%s", part, &said)
				}
			}
			if n := strings.Count(said.String(), "\n"); r.no == 101 && n > 5 {
				t.Errorf("%d lines are said, want at most 5:\n%s", n, &said)
			}
		})
	}
}
