package vault

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func write(t *testing.T, text string, mode fs.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return name
}

func TestFirstStartMakesAKeyThatStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "weir")
	first, err := LoadOrCreate(dir)
	if err != nil {
		t.Fatal(err)
	}
	sealed := seal(t, first, here, planted)
	second, err := LoadOrCreate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Open(here, sealed); err != nil || string(got) != planted {
		t.Errorf("Open after a restart = %q, %v, want %q", got, err, planted)
	}
	for name, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, filepath.Join(dir, FileName): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("directory holds %v, %v, want the key file alone", left, err)
	}
}

func TestStartsAtOnceAgreeOnAKey(t *testing.T) {
	dir := t.TempDir()
	ids := make([]string, 16)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			v, err := LoadOrCreate(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = v.KeyIDs()[0]
		})
	}
	all.Wait()
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
		t.Errorf("keys are %v, want one", ids)
	}
}

func TestOnlyFilesThatOthersCannotReadAreUsed(t *testing.T) {
	text := hex.EncodeToString([]byte(NewKey().secret.Reveal()))
	for _, tt := range []struct {
		mode fs.FileMode
		ok   bool
	}{
		{0o600, true},
		{0o400, true},
		{0o440, true},
		{0o640, true},
		{0o660, false},
		{0o620, false},
		{0o604, false},
		{0o644, false},
		{0o602, false},
		{0o777, false},
	} {
		name := write(t, text, tt.mode)
		_, err := LoadFile(name)
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "chmod 600 "+name) {
			t.Errorf("LoadFile with mode %v = %v, want it used: %v", tt.mode, err, tt.ok)
		}
	}
}

func TestKeyFileForms(t *testing.T) {
	a, b := NewKey(), NewKey()
	for _, tt := range []struct {
		name, text string
		want       []string // ids
		bad        string
	}{
		{"raw", a.secret.Reveal(), []string{a.ID()}, ""},
		{"one line", a.text(), []string{a.ID()}, ""},
		{"newest first", "# new\n" + a.text() + "\n\n# old\r\n" + b.text() + "\r\n", []string{a.ID(), b.ID()}, ""},
		{"empty", "", nil, "holds no key"},
		{"comments only", "# soon\n", nil, "holds no key"},
		{"a bad line", a.text() + "\nrubbish\n", nil, "line 2: the key is not 32 bytes"},
		{"a pass phrase of 32 letters on a line", strings.Repeat("p", 32) + "\n", nil, "line 1: the key must be in hex or base64"},
		{"too large", strings.Repeat("#", maxFile+1), nil, "not a file of at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := LoadFile(write(t, tt.text, 0o600))
			switch {
			case tt.bad != "":
				if err == nil || !strings.Contains(err.Error(), tt.bad) || strings.Contains(err.Error(), "rubbish") {
					t.Errorf("LoadFile = %v, want %q", err, tt.bad)
				}
			case err != nil || !slices.Equal(v.KeyIDs(), tt.want):
				t.Errorf("LoadFile = %v, want keys %v", err, tt.want)
			}
		})
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("LoadFile of no file = nil")
	}
	if _, err := LoadFile(t.TempDir()); err == nil {
		t.Error("LoadFile of a directory = nil")
	}
}
