package spec

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

// TestASecondDocumentIsRefused: it would be left out without a word.
func TestASecondDocumentIsRefused(t *testing.T) {
	var into api.NewBulkAction
	err := Decode("two.yaml", []byte("name: a\n---\nname: b\n"), &into)
	if err == nil || !strings.Contains(err.Error(), "2 documents") {
		t.Errorf("%v, want that it has 2 documents", err)
	}
	if err := Decode("one.yaml", []byte("---\nname: a\n"), &into); err != nil || into.Name != "a" {
		t.Errorf("one document: %v, name %q", err, into.Name)
	}
}
