package config

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/service/vault/transit"
)

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

// mostSecret limits the bytes of a file with a secret.
const mostSecret = 64 << 10

// ReadSecret reads a file with a secret. It refuses a file that every user can read, or that is empty.
func ReadSecret(path string) (vault.Secret, error) {
	if e := checkSecretFile(path); e != nil {
		return vault.Secret{}, e
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return vault.Secret{}, &Error{File: path, Problem: "cannot be read", Fix: "check the path and its permissions", Err: cause(err)}
	}
	word := strings.TrimSpace(string(raw))
	if word == "" {
		return vault.Secret{}, &Error{File: path, Problem: "is empty", Fix: "write the secret into it"}
	}
	return vault.NewSecret(word), nil
}

func checkSecretFile(path string) *Error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return &Error{File: path, Problem: "cannot be read", Fix: "write the secret into it", Err: cause(err)}
	case st.IsDir():
		return &Error{File: path, Problem: "is a directory", Fix: "name the file with the secret"}
	case st.Size() > mostSecret:
		return &Error{File: path, Problem: fmt.Sprintf("has %d bytes, too many for a secret", st.Size()),
			Fix: "name the file with the secret"}
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o007 != 0:
		return &Error{File: path, Problem: fmt.Sprintf("is readable by every user (%v)", st.Mode().Perm()), Fix: "chmod 600 " + path}
	}
	return nil
}

// cause returns the error of a file operation, without the path.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost repeats the path
		return p.Err
	}
	return err
}

// VaultTransit holds the settings of a service that decrypts the keys of the vault.
type VaultTransit struct {
	URL       string `yaml:"url"        help:"URL of the transit engine of OpenBao or HashiCorp Vault that decrypts keys in vault_key_file, as in https://bao.example.com:8200/v1/transit/decrypt/weir (default: the keys are not encrypted)"`
	TokenFile string `yaml:"token_file" path:"yes" secret:"-" help:"file with the token; read again for each request"`
	Namespace string `yaml:"namespace"  help:"namespace of the transit engine"`
	CA        string `yaml:"ca"         path:"yes" help:"file with the CA certificates to trust instead of the system's"`
}

// checkVault finds mistakes in the keys of the vault without decrypting them.
func checkVault(s *Server, fault faultAt) {
	t := &s.VaultTransit
	if t.URL != "" {
		if u, err := url.Parse(t.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
			fault("vault_transit.url", "this is not the URL of a transit engine", "write it as in https://bao.example.com:8200/v1/transit/decrypt/weir")
		}
		if t.TokenFile == "" {
			fault("vault_transit.token_file", "is not set", "name the file with the token")
		}
		if s.VaultKeyFile == "" && s.VaultKey.IsZero() {
			fault("vault_transit.url", "has no effect without encrypted keys", "name the file with them in vault_key_file")
		}
	}
	if s.VaultKey.IsZero() {
		return // also if its file could not be read, which has been told
	}
	var err error
	switch {
	case s.VaultKeyFile != "":
		var text []byte
		if text, err = vault.ReadFile(s.VaultKeyFile); err == nil {
			err = vault.CheckText(text)
		}
		if err != nil {
			err = fmt.Errorf("key file %s: %w", s.VaultKeyFile, err)
		}
	default:
		err = vault.CheckText([]byte(s.VaultKey.Reveal()))
	}
	if err != nil {
		fault("vault_key_file", err.Error(), "")
	}
}

// unwrapper returns the service that decrypts keys; nil: none is configured.
func (t *VaultTransit) unwrapper() (vault.Unwrapper, error) {
	if t.URL == "" {
		return nil, nil //nolint:nilnil // keys are not encrypted
	}
	return transit.New(transit.Options{URL: t.URL, TokenFile: t.TokenFile, CA: t.CA, Namespace: t.Namespace})
}

// OpenVault opens what seals secrets in the store: with the keys that were given, or with one that is drawn at
// the first start and kept in the data directory. Servers that share a Redis have to be given the same.
func (s *Server) OpenVault(ctx context.Context) (*vault.Vault, error) {
	u, err := s.VaultTransit.unwrapper()
	if err != nil {
		return nil, fmt.Errorf("vault_transit: %w", err)
	}
	switch {
	case s.VaultKeyFile != "":
		return vault.LoadWrapped(ctx, s.VaultKeyFile, u)
	case !s.VaultKey.IsZero():
		return vault.LoadText(ctx, []byte(s.VaultKey.Reveal()), u)
	case len(s.Redis) > 0:
		return nil, &Error{File: "vault_key_file", Problem: "is not set, and servers that share a Redis need the same key",
			Fix: "generate one with openssl rand -base64 32, and give the file to all of them"}
	}
	return vault.LoadOrCreate(s.Data)
}
