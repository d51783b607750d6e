package vault

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Shown is what a secret looks like wherever it is printed.
const Shown = "[secret]"

// ErrShown means that a secret was to be read from the text that stands for one.
// Whoever sends a document back as it was shown must not overwrite what is hidden.
var ErrShown = errors.New(Shown + " is a placeholder, not a secret; leave the field out to keep the secret, or write a new one")

// Secret is a text that prints as [Shown], whatever prints it. The zero value is
// the empty text.
type Secret struct {
	// A pointer, since fmt calls no methods on unexported fields of a struct around
	// this one: it would show a string, but only the address of this.
	text *string
}

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. Calls of it are where secrets leave: keep them few.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is nothing to hide; JSON fields with omitzero go by it.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares in a time that depends on the lengths only.
func (s Secret) Equal(t Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(t.Reveal())) == 1
}

// Format is for every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Shown) }

// String is for whoever asks for text without package fmt.
func (s Secret) String() string { return Shown }

// LogValue is for package slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Shown) }

// MarshalText is for encoders of JSON, YAML and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Shown), nil }

// UnmarshalText takes a secret from a request or a file; [Shown] is [ErrShown].
func (s *Secret) UnmarshalText(text []byte) error {
	if string(text) == Shown {
		return ErrShown
	}
	*s = NewSecret(string(text))
	return nil
}
