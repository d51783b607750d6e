package command

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ReadSecret reads a key that signs calls. It refuses a file that every user can read.
func ReadSecret(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", BadUsage("write the secret into it, as whsec_ and base64", "secret file %s: %v", path, err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o004 != 0 {
		return "", BadUsage("chmod 600 "+path, "secret file %s is readable by every user (%v)", path, st.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", BadUsage("", "secret file %s: %v", path, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// Probe says whether a folder is there, or can be made, and can be written into.
func Probe(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".weir-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// ReplaceFile puts content at path in one move, durably.
func ReplaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Exists reports whether there is a file.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
