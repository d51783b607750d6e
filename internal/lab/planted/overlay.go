package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// importLine gives a patched file access to Is. A file may have several import declarations.
const importLine = "import \"github.com/weirhq/weir/internal/lab/planted\"\n"

// Overlay plants all bugs in copies of the sources below root. It writes them to dir and
// returns the file for the -overlay flag of the go command.
func Overlay(root, dir string, all []Bug) (string, error) {
	sources, err := patched(root, all)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// patched returns the sources with all bugs planted, by file.
func patched(root string, all []Bug) (map[string]string, error) {
	sources := map[string]string{}
	for _, b := range all {
		for _, e := range b.Edits {
			text, ok := sources[e.File]
			if !ok {
				raw, err := os.ReadFile(filepath.Join(root, e.File)) //nolint:gosec // named by bugs.txt
				if err != nil {
					return nil, fmt.Errorf("bug %q: %w", b.Name, err)
				}
				text = string(raw)
			}
			text, err := e.apply(text)
			if err != nil {
				return nil, fmt.Errorf("bug %q: %w", b.Name, err)
			}
			sources[e.File] = text
		}
	}
	for file, text := range sources {
		sources[file] = withImport(text)
	}
	return sources, nil
}

// withImport puts importLine after the package clause.
func withImport(text string) string {
	at := strings.Index("\n"+text, "\npackage ")
	end := at + strings.IndexByte(text[at:], '\n') + 1
	return text[:end] + importLine + text[end:]
}
