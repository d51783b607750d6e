package execute

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weirhq/weir"
)

// Bounds on a shared secret, in bytes after decoding base64.
const (
	minSecret = 24
	maxSecret = 64
)

// key signs and verifies with one secret: HMAC-SHA256 ("v1") or ed25519 ("v1a"). One of its
// fields is set, or public and private.
type key struct {
	shared  []byte
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

func (k key) signs() bool { return k.shared != nil || k.private != nil }

// append adds the signature in the form of the header.
func (k key) append(sigs []byte, id, ts string, body []byte) []byte {
	if k.private != nil {
		return base64.StdEncoding.AppendEncode(append(sigs, "v1a,"...), ed25519.Sign(k.private, content(id, ts, body)))
	}
	return base64.StdEncoding.AppendEncode(append(sigs, "v1,"...), sum(k.shared, id, ts, body))
}

// made reports whether sig, "v1,…" or "v1a,…", was made by k. It ignores other versions.
func (k key) made(sig, id, ts string, body []byte) bool {
	version, text, _ := strings.Cut(sig, ",")
	raw, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return false
	case version == "v1" && k.shared != nil:
		return hmac.Equal(raw, sum(k.shared, id, ts, body))
	case version == "v1a" && k.public != nil:
		return ed25519.Verify(k.public, content(id, ts, body), raw)
	}
	return false
}

func sum(shared []byte, id, ts string, body []byte) []byte {
	mac := hmac.New(sha256.New, shared)
	mac.Write([]byte(id + "." + ts + "."))
	mac.Write(body)
	return mac.Sum(make([]byte, 0, sha256.Size))
}

func content(id, ts string, body []byte) []byte {
	return append([]byte(id+"."+ts+"."), body...)
}

// PublicKey returns the public key, "whpk_…", of a private key, "whsk_…". Receivers verify
// signatures with it.
func PublicKey(secret string) (string, error) {
	k, err := parseKey(secret)
	if err != nil {
		return "", err
	}
	if k.public == nil {
		return "", secretError("is not a private key")
	}
	return publicPrefix + base64.StdEncoding.EncodeToString(k.public), nil
}

const (
	sharedPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

func parseKeys(secret string) ([]key, error) {
	var keys []key
	for one := range strings.FieldsSeq(secret) {
		k, err := parseKey(one)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, secretError("is empty")
	}
	return keys, nil
}

func parseKey(one string) (key, error) {
	prefix, text, _ := strings.Cut(one, "_")
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return key{}, secretError("is not whsec_ and base64")
	}
	switch prefix + "_" {
	case sharedPrefix:
		if len(raw) < minSecret || len(raw) > maxSecret {
			return key{}, secretError(fmt.Sprintf("has %d bytes", len(raw)))
		}
		return key{shared: raw}, nil
	case privatePrefix:
		return parsePrivate(raw)
	case publicPrefix:
		if len(raw) != ed25519.PublicKeySize {
			return key{}, secretError(fmt.Sprintf("is a public key of %d bytes, not %d", len(raw), ed25519.PublicKeySize))
		}
		return key{public: raw}, nil
	}
	return key{}, secretError("is not whsec_ and base64")
}

// parsePrivate accepts a private key with its public one after it, or alone. The two must
// match: signing with a pair that does not match reveals the private key.
func parsePrivate(raw []byte) (key, error) {
	if len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize {
		return key{}, secretError(fmt.Sprintf("is a private key of %d bytes, not %d or %d", len(raw), ed25519.SeedSize,
			ed25519.PrivateKeySize))
	}
	private := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if len(raw) == ed25519.PrivateKeySize && !private.Equal(ed25519.PrivateKey(raw)) {
		return key{}, secretError("is a private key with another's public key")
	}
	return key{private: private, public: private.Public().(ed25519.PublicKey)}, nil
}

// secretError never repeats the secret.
func secretError(problem string) error {
	return &weir.FieldError{
		Code: "bad_secret", Field: "secret", Problem: problem,
		Fix: fmt.Sprintf(`write "whsec_" and %d to %d random bytes in base64, or "whsk_" and an ed25519 private key in base64`, minSecret, maxSecret),
	}
}
