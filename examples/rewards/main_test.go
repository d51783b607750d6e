package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/engine"
)

// done runs the program over a store in dir, and writes its report into out.
func done(t *testing.T, dir, out string, input io.Reader) *engine.Report {
	t.Helper()
	r, err := run(t.Context(), input, dir, out)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryUserIsRewardedOnce(t *testing.T) {
	f, err := os.Open("users.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := t.TempDir()
	r := done(t, t.TempDir(), out, f)
	if r.Counts.Total != 9_988 || r.Counts.Done != r.Counts.Total || r.Duplicates != 12 {
		t.Errorf("counts = %+v, %d duplicates; want 9,988 items, all done, and 12 rows that came twice", r.Counts, r.Duplicates)
	}
	raw, err := os.ReadFile(filepath.Join(out, "done.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "\n"); n != 9_989 {
		t.Errorf("done.csv has %d lines, want a header and 9,988", n)
	}
}

func TestASecondStartFindsTheFirst(t *testing.T) {
	const input = "user_id,amount,country,email\nu1,5,DE,u1@example.com\nu2,5,DE,\n"
	dir := t.TempDir()
	first := done(t, dir, t.TempDir(), strings.NewReader(input))
	if first.Counts.Done != 1 || first.Counts.Failed != 1 || first.Errors[0].Code != "no_address" {
		t.Errorf("counts = %+v, errors %+v; want one done and one without an address", first.Counts, first.Errors)
	}
	if second := done(t, dir, t.TempDir(), strings.NewReader(input)); second.ID != first.ID || second.Duration != first.Duration {
		t.Errorf("second start made %s beside %s", second.ID, first.ID)
	}
}
