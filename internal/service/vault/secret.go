package vault

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Shown is the text that replaces a secret wherever it is printed.
const Shown = "[secret]"

// ErrShown means that a secret was set to [Shown]. A client that sends back a document as it was
// shown must not overwrite the hidden secret.
var ErrShown = errors.New(Shown + " is a placeholder, not a secret; leave the field out to keep the secret, or write a new one")

// Secret is a text that prints as [Shown]. The zero value is the empty text.
type Secret struct {
	// A pointer, since fmt calls no methods on unexported fields of a struct around
	// this one: it would show a string, but only the address of this.
	text *string
}

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. Secrets leave the program through its calls: keep them few.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty; JSON fields with omitzero use it.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares in a time that depends on the lengths only.
func (s Secret) Equal(t Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(t.Reveal())) == 1
}

// Format implements [fmt.Formatter] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Shown) }

// String returns [Shown], for callers that do not use package fmt.
func (s Secret) String() string { return Shown }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Shown) }

// MarshalText returns [Shown] to encoders of JSON, YAML and other formats.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Shown), nil }

// UnmarshalText reads a secret from a request or a file; [Shown] is [ErrShown].
func (s *Secret) UnmarshalText(text []byte) error {
	if string(text) == Shown {
		return ErrShown
	}
	*s = NewSecret(string(text))
	return nil
}
