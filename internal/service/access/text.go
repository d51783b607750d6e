package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir/internal/service/vault"
)

// The text of a key is
//
//	wk_ , the ULID of its record (26), 32 random bytes in base 62 (43), CRC-32 of all before in base 62 (6)
//
// The prefix and the checksum let scanners recognise leaked keys with certainty, and reveal typing
// errors without a lookup.
const (
	textPrefix  = "wk_"
	idPrefix    = "key_"
	ulidChars   = 26
	secretBytes = 32
	secretChars = 43
	sumChars    = 6
	textChars   = len(textPrefix) + ulidChars + secretChars + sumChars
)

// NewID returns the id of a key to be created.
func NewID() string { return idPrefix + strings.ToLower(ulid.Make().String()) }

// textOf returns a new random text for a key.
func textOf(id string) vault.Secret {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	body := textPrefix + strings.TrimPrefix(id, idPrefix) + base62(new(big.Int).SetBytes(secret), secretChars)
	return vault.NewSecret(body + checksum(body))
}

func base62(n *big.Int, width int) string {
	digits := n.Text(62)
	return strings.Repeat("0", width-len(digits)) + digits
}

func checksum(body string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), sumChars)
}

// idOf returns the id in the text of a key; false if it was mistyped, cut or never was a key.
func idOf(text string) (id string, ok bool) {
	if len(text) != textChars || !strings.HasPrefix(text, textPrefix) {
		return "", false
	}
	body, sum := text[:textChars-sumChars], text[textChars-sumChars:]
	if sum != checksum(body) {
		return "", false
	}
	return idPrefix + body[len(textPrefix):len(textPrefix)+ulidChars], true
}

// hash is all that is stored of a key's text. A key has 256 random bits, so a fast hash is enough
// against guessing. The compiler refuses == on it, which would stop at the first byte that differs
// and reveal its position by its duration.
type hash struct {
	_   [0]func()
	sum [sha256.Size]byte
}

func hashOf(text string) hash { return hash{sum: sha256.Sum256([]byte(text))} }

// equal takes the same time for all hashes; other may have any length.
func (h hash) equal(other []byte) bool { return subtle.ConstantTimeCompare(h.sum[:], other) == 1 }

// FromHeader returns the key in a request's header, or [ErrNoCredentials].
func FromHeader(h http.Header) (string, error) {
	scheme, text, _ := strings.Cut(h.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		return "", ErrNoCredentials
	}
	return text, nil
}

// inURL matches keys, also cut or mistyped ones.
var inURL = regexp.MustCompile(textPrefix + `[0-9A-Za-z]{20,}`)

// InURL reports whether a URL holds a key. URLs end up in logs and histories, so
// such a key should be revoked.
func InURL(u *url.URL) bool {
	q, _ := url.QueryUnescape(u.RawQuery)
	return inURL.MatchString(u.Path) || inURL.MatchString(q) || u.Query().Has("api_key") || u.Query().Has("access_token")
}
