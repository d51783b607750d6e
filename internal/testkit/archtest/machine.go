package archtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Machines lists strings that tie a file to one machine or one network. They are split here so
// that this file does not contain them.
var Machines = []string{
	"/wo" + "rk/",           // a build directory
	"/ro" + "ot/",           // a home directory
	"/ho" + "me/",           // a home directory
	"/Us" + "ers/",          // a home directory
	"../sha" + "red",        // a directory beside the clone
	"proxy.golang" + ".org", // which registry is used is the user's setting
	"sum.golang" + ".org",
	"registry.npm" + "js.org",
	"GOPR" + "OXY=",
	"GOSUM" + "DB=",
	"arti" + "factory",
}

// CheckMachine looks for [Machines] in the text of one file. Binary files have no text.
func CheckMachine(name string, text []byte) []Violation {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var out []Violation
	for i, line := range strings.Split(string(text), "\n") {
		for _, bad := range Machines {
			if strings.Contains(line, bad) {
				where := fmt.Sprintf("%s:%d", name, i+1)
				out = append(out, Violation{where, "names a machine or registry: " + bad})
			}
		}
	}
	return out
}

// CheckMachines reads every file of the tree, its test data and tools too.
func CheckMachines(root string) ([]Violation, error) {
	var out []Violation
	err := walk(root, func(name string) error {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		out = append(out, CheckMachine(name, text)...)
		return err
	})
	return out, err
}
