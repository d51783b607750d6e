package command

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/internal/cli/config"
)

// ReadSecret reads a secret from a file; what names it in an error. It refuses a file that every user can read.
func ReadSecret(what, path string) (string, error) {
	s, err := config.ReadSecret(path)
	if e, ok := errors.AsType[*config.Error](err); ok {
		return "", BadUsage(e.Fix, "%s %s", what, e.What())
	}
	return s.Reveal(), err
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
