package execute

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// The headers of Standard Webhooks.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Bounds of a secret, in bytes after base64 is decoded.
const (
	minSecret = 24
	maxSecret = 64
)

// Errors of [Verify], for [errors.Is].
var (
	// ErrUnsigned means that a header of the signature is missing or no number.
	ErrUnsigned = errors.New("no signature")
	// ErrStale means that the signature is older or newer than tolerated.
	ErrStale = errors.New("signature is out of time")
	// ErrForged means that no signature fits the secret.
	ErrForged = errors.New("signature does not match")
)

// Signer signs calls by Standard Webhooks. It may be used by many goroutines.
type Signer struct{ keys [][]byte }

// NewSigner reads a secret: "whsec_" and 24 to 64 bytes in base64. Several,
// separated by spaces, sign each call once each, so that a receiver can change
// from one to the next without a gap.
func NewSigner(secret string) (*Signer, error) {
	s := &Signer{}
	for one := range strings.FieldsSeq(secret) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(one, "whsec_"))
		if err != nil || !strings.HasPrefix(one, "whsec_") {
			return nil, secretError("is not whsec_ and base64")
		}
		if len(key) < minSecret || len(key) > maxSecret {
			return nil, secretError(fmt.Sprintf("has %d bytes", len(key)))
		}
		s.keys = append(s.keys, key)
	}
	if len(s.keys) == 0 {
		return nil, secretError("is empty")
	}
	return s, nil
}

// secretError never repeats the secret.
func secretError(problem string) error {
	return &weir.FieldError{
		Code: "bad_secret", Field: "secret", Problem: problem,
		Fix: fmt.Sprintf(`write "whsec_" and %d to %d random bytes in base64`, minSecret, maxSecret),
	}
}

// Sign sets the three headers for a message. The id is the same for every
// attempt at a message, the time that of the attempt.
func (s *Signer) Sign(h http.Header, id string, at time.Time, body []byte) {
	ts := strconv.FormatInt(at.Unix(), 10)
	h[HeaderID] = []string{id}
	h[HeaderTimestamp] = []string{ts}
	sigs := make([]byte, 0, 48*len(s.keys))
	for i, key := range s.keys {
		if i > 0 {
			sigs = append(sigs, ' ')
		}
		sigs = append(sigs, "v1,"...)
		sigs = base64.StdEncoding.AppendEncode(sigs, sum(key, id, ts, body))
	}
	h[HeaderSignature] = []string{string(sigs)}
}

func sum(key []byte, id, ts string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + ts + "."))
	mac.Write(body)
	return mac.Sum(make([]byte, 0, sha256.Size))
}

// Verify checks that body was signed with the secret, at most tolerance before
// or after now. Signatures are compared in constant time. A receiver that must
// not act twice on one message remembers the ids it saw.
func Verify(secret string, h http.Header, body []byte, now time.Time, tolerance time.Duration) error {
	s, err := NewSigner(secret)
	if err != nil {
		return err
	}
	id, ts, sigs := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	if id == "" || ts == "" || sigs == "" {
		return fmt.Errorf("%w: want %s, %s and %s", ErrUnsigned, HeaderID, HeaderTimestamp, HeaderSignature)
	}
	sec, err := strconv.ParseInt(ts, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %s is no number of seconds", ErrUnsigned, HeaderTimestamp)
	}
	if age := now.Sub(time.Unix(sec, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("%w: made %v ago, tolerated are %v", ErrStale, age.Round(time.Second), tolerance)
	}
	for _, key := range s.keys {
		if anyEqual(sigs, sum(key, id, ts, body)) {
			return nil
		}
	}
	return ErrForged
}

// anyEqual looks for want among "v1,…" signatures separated by spaces; other
// versions are left to others.
func anyEqual(sigs string, want []byte) bool {
	for sig := range strings.FieldsSeq(sigs) {
		text, ok := strings.CutPrefix(sig, "v1,")
		if !ok {
			continue
		}
		got, err := base64.StdEncoding.DecodeString(text)
		if err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}
