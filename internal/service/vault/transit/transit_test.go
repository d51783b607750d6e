package transit

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/service/vault"
)

const token = "s.token"

// bao is a transit engine with one key, as OpenBao and HashiCorp Vault have it: decrypt, and datakey/wrapped, which makes keys.
type bao struct{ key cipher.AEAD }

func newBao(t *testing.T) (*bao, *httptest.Server) {
	t.Helper()
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	b := &bao{}
	if b.key, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(b)
	t.Cleanup(s.Close)
	return b, s
}

// wrap encrypts a key.
func (b *bao) wrap(key []byte) string {
	return "vault:v1:" + base64.StdEncoding.EncodeToString(b.key.Seal(nil, nil, key, nil))
}

// ServeHTTP answers decrypt.
func (b *bao) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{text}})
	}
	var in struct{ Ciphertext string }
	switch {
	case r.Header.Get("X-Vault-Token") != token:
		fail(403, "permission denied")
		return
	case r.Method != http.MethodPost || r.URL.Path != "/v1/transit/decrypt/weir":
		fail(404, "no handler for route")
		return
	case json.NewDecoder(r.Body).Decode(&in) != nil:
		fail(400, "failed to parse JSON input")
		return
	}
	text, ok := strings.CutPrefix(in.Ciphertext, "vault:v1:")
	box, err := base64.StdEncoding.DecodeString(text)
	if err == nil && ok {
		if box, err = b.key.Open(nil, nil, box, nil); err == nil {
			_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"plaintext": base64.StdEncoding.EncodeToString(box)}})
			return
		}
	}
	fail(400, "cipher: message authentication failed")
}

// file writes a file that only the owner may read.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func newService(t *testing.T, s *httptest.Server, path, word string) *Service {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	out, err := New(Options{URL: s.URL + path, TokenFile: file(t, word+"\n"), CA: file(t, string(ca))})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const path = "/v1/transit/decrypt/weir"

func TestKeysAreDecryptedByTheService(t *testing.T) {
	b, s := newBao(t)
	first, second := bytes.Repeat([]byte("k"), 32), bytes.Repeat([]byte("l"), 32)
	text := "# keys\n" + b.wrap(first) + "\n" + base64.StdEncoding.EncodeToString(second) + "\n"
	v, err := vault.LoadWrapped(t.Context(), file(t, text), newService(t, s, path, token))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := vault.LoadFile(file(t, base64.StdEncoding.EncodeToString(first)))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := v.Seal("here", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := plain.Open("here", sealed); err != nil || string(got) != "secret" || len(v.KeyIDs()) != 2 {
		t.Errorf("Open with the key itself = %q, %v; the vault has keys %v", got, err, v.KeyIDs())
	}
	if err := vault.CheckText([]byte(text)); err != nil {
		t.Errorf("CheckText = %v", err)
	}
}

func TestKeysThatCannotBeDecrypted(t *testing.T) {
	b, s := newBao(t)
	other, _ := newBao(t)
	key := bytes.Repeat([]byte("k"), 32)
	for _, tt := range []struct {
		name, text, path, token, want string
	}{
		{"a wrong token", b.wrap(key), path, "other", "status 403: permission denied"},
		{"no such key", b.wrap(key), "/v1/transit/decrypt/none", token, "status 404"},
		{"a key of another service", other.wrap(key), path, token, "message authentication failed"},
		{"a changed key", b.wrap(key)[:30], path, token, "status 400"},
		{"a key of another length", b.wrap(key[:16]), path, token, "line 1: the decrypted key has 16 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := vault.LoadWrapped(t.Context(), file(t, tt.text+"\n"), newService(t, s, tt.path, tt.token))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.token+"\n") {
				t.Errorf("LoadWrapped = %v, want %q in it", err, tt.want)
			}
		})
	}
	if _, err := vault.LoadFile(file(t, b.wrap(key)+"\n")); err == nil || !strings.Contains(err.Error(), "vault_transit.url") {
		t.Errorf("LoadFile without a service = %v", err)
	}
}

func TestTheTokenIsNotSentElsewhere(t *testing.T) {
	came := false
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came = true }))
	defer away.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(away.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if _, err := newService(t, s, path, token).Unwrap(t.Context(), "vault:v1:x"); err == nil || came {
		t.Errorf("Unwrap after a redirect = %v, and the other server was asked: %v", err, came)
	}
}
