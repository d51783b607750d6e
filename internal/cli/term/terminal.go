package term

import (
	"os"

	"golang.org/x/term"
)

// Terminal holds what the live panel needs of a terminal.
type Terminal struct {
	// Width returns the characters per line.
	Width func() int
	// Keys starts to read single keys, until the function it returns is called. Nil: no keys can be read.
	Keys func() (keys <-chan byte, restore func())
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// WidthOf returns the characters per line of a terminal; 80 if it does not say.
func WidthOf(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// SecretFrom reads a line from a terminal without showing it.
func SecretFrom(f *os.File) (string, error) {
	raw, err := term.ReadPassword(int(f.Fd()))
	return string(raw), err
}

// KeysOf reads keys of a terminal as they are pressed, until restore is called. The goroutine that reads ends with
// the process: a read of a terminal cannot be taken back.
func KeysOf(f *os.File) (keys <-chan byte, restore func()) {
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, func() {}
	}
	pressed := make(chan byte)
	go func() {
		one := make([]byte, 1)
		for {
			if n, err := f.Read(one); err != nil || n == 0 {
				return
			}
			pressed <- one[0]
		}
	}()
	return pressed, func() { _ = term.Restore(int(f.Fd()), before) } // nothing else could be done
}
