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

// TestYAMLMayBeginLikeJSON: a mapping in braces is YAML, too; a mistake in JSON is told as one.
func TestYAMLMayBeginLikeJSON(t *testing.T) {
	var into api.NewBulkAction
	if err := Decode("flow.yaml", []byte("{name: reward, deadline: 2030-01-31T18:00:00Z}\n"), &into); err != nil || into.Name != "reward" {
		t.Errorf("a mapping in braces: %v, name %q", err, into.Name)
	}
	for _, text := range []string{`{"name": "a"`, `{"name": "a"} {"name": "b"}`, `{"name": "a"]`} {
		if err := Decode("broken.json", []byte(text), &into); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
