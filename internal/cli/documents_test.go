package cli

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

// TestASecondDocumentIsRefused: it would be left out without a word.
func TestASecondDocumentIsRefused(t *testing.T) {
	var into api.NewBulkAction
	for name, err := range map[string]error{
		"spec":  decodeSpec("two.yaml", []byte("name: a\n---\nname: b\n"), &into),
		"world": func() error { _, err := readWorld("two.yaml", []byte("seed: 1\n---\nseed: 2\n")); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "2 documents") {
			t.Errorf("%s: %v, want that it has 2 documents", name, err)
		}
	}
	if err := decodeSpec("one.yaml", []byte("---\nname: a\n"), &into); err != nil || into.Name != "a" {
		t.Errorf("one document: %v, name %q", err, into.Name)
	}
}
