package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
)

// Word is one of a few words, which K lists.
type Word[K choice] string

// choice names a setting in help, and lists its words.
type choice interface {
	choices() (name string, words []string)
}

// Set takes one of the words, and leaves what was there if it is another one.
func (w *Word[K]) Set(s string) error {
	var k K
	_, words := k.choices()
	word := strings.ReplaceAll(s, "_", "-") // as the API writes them
	if !slices.Contains(words, word) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
	}
	*w = Word[K](word)
	return nil
}

// String returns the word.
func (w *Word[K]) String() string { return string(*w) }

// Type is the name in help.
func (*Word[K]) Type() string {
	var k K
	name, _ := k.choices()
	return name
}

// Words are those that it takes.
func (*Word[K]) Words() []string {
	var k K
	_, words := k.choices()
	return words
}

type (
	role          struct{}
	durability    struct{}
	logFormat     struct{}
	logLevel      struct{}
	duplicateRule struct{}
	invalidRule   struct{}
	pacing        struct{}
	reportFormat  struct{}
)

func (role) choices() (string, []string) { return "ROLE", []string{"all", "api", "worker"} }
func (durability) choices() (string, []string) {
	return "MODE", []string{"disk", "memory", "replicated"}
}
func (logFormat) choices() (string, []string) { return "FORMAT", []string{"auto", "json", "text"} }
func (logLevel) choices() (string, []string) {
	return "LEVEL", []string{"debug", "info", "warn", "error"}
}
func (duplicateRule) choices() (string, []string) {
	return "RULE", []string{"keep-first", "refuse", "keep-all"}
}
func (invalidRule) choices() (string, []string)  { return "RULE", []string{"refuse", "skip"} }
func (reportFormat) choices() (string, []string) { return "FORMAT", []string{"csv", "ndjson"} }
func (pacing) choices() (string, []string) {
	return "smooth|full", []string{string(weir.PacingSmooth), string(weir.PacingFull)}
}
