package config

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// Secret is a word that is never shown: whatever prints it prints [secret].
type Secret struct{ word string }

// NewSecret keeps a word.
func NewSecret(word string) Secret { return Secret{word} }

// Reveal gives the word to whoever needs it.
func (s Secret) Reveal() string { return s.word }

// Set reports whether there is one.
func (s Secret) Set() bool { return s.word != "" }

const hidden = "[secret]"

// String hides it.
func (s Secret) String() string {
	if s.word == "" {
		return ""
	}
	return hidden
}

// Format hides it from every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) } // as fmt does

// MarshalText hides it from JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides it from the log.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// fileSuffix ends the keys that name a file with a secret.
const fileSuffix = "_file"

// looksSecret recognises names of headers that carry credentials.
var looksSecret = regexp.MustCompile(`(?i)auth|cookie|token|secret|passw|credential|api[-_]?key|-key$`)

// holdsPassword recognises URLs with a password in them.
func holdsPassword(s string) bool {
	if !strings.Contains(s, "://") {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return strings.Contains(s, "@") // rather too careful than printed
	}
	_, has := u.User.Password()
	return has
}

// passwordFix says where a password goes that stood in a URL.
func passwordFix(key string) string {
	if top, _, _ := strings.Cut(key, "["); top == "redis" {
		return "leave it out, put it into a file that only you can read, and name that with redis_password_file"
	}
	return "leave it out, put it into a file that only you can read, and name that with password_file"
}

// mostSecret is how many bytes a file with a secret has at most.
const mostSecret = 64 << 10

// ReadSecret reads a file with a secret. One that everybody can read, or that is empty, is refused.
func ReadSecret(path string) (Secret, error) {
	if e := checkSecretFile(path); e != nil {
		return Secret{}, e
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, &Error{File: path, Problem: "cannot be read", Fix: "check the path and its permissions", Err: cause(err)}
	}
	word := strings.TrimSpace(string(raw))
	if word == "" {
		return Secret{}, &Error{File: path, Problem: "is empty", Fix: "write the secret into it"}
	}
	return Secret{word}, nil
}

func checkSecretFile(path string) *Error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return &Error{File: path, Problem: "cannot be read", Fix: "write the secret into it", Err: cause(err)}
	case st.IsDir():
		return &Error{File: path, Problem: "is a directory", Fix: "name the file with the secret"}
	case st.Size() > mostSecret:
		return &Error{File: path, Problem: fmt.Sprintf("has %d bytes, too many for a secret", st.Size()), Fix: "name the file with the secret"}
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o007 != 0:
		return &Error{File: path, Problem: fmt.Sprintf("can be read by everybody (%v)", st.Mode().Perm()), Fix: "chmod 600 " + path}
	}
	return nil
}

// cause is what went wrong with a file, without its path.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost repeats the path
		return p.Err
	}
	return err
}
