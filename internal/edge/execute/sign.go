package execute

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Errors of [Verify], for [errors.Is].
var (
	// ErrUnsigned means that a header of the signature is missing or not a number.
	ErrUnsigned = errors.New("no signature")
	// ErrStale means that the time of the signature is outside the tolerance.
	ErrStale = errors.New("signature is out of time")
	// ErrForged means that no signature matches the secret.
	ErrForged = errors.New("signature does not match")
)

// Signer signs messages by Standard Webhooks: calls of endpoints and notifications. It is safe
// for concurrent use.
type Signer struct{ keys []key }

// NewSigner parses a secret: "whsec_" and 24 to 64 bytes in base64, or "whsk_" and a private
// ed25519 key in base64, whose receivers only need its public key. With several secrets,
// separated by spaces, each signs every message, so that a receiver can change from one to the
// next without a gap.
func NewSigner(secret string) (*Signer, error) {
	keys, err := parseKeys(secret)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if !k.signs() {
			return nil, secretError("is a public key, which cannot sign")
		}
	}
	return &Signer{keys}, nil
}

// Sign sets the three headers of a message. id is the same for every attempt to send a message;
// at is the time of the attempt.
func (s *Signer) Sign(h http.Header, id string, at time.Time, body []byte) {
	ts := strconv.FormatInt(at.Unix(), 10)
	h[HeaderID] = []string{id}
	h[HeaderTimestamp] = []string{ts}
	sigs := make([]byte, 0, 48*len(s.keys))
	for i, k := range s.keys {
		if i > 0 {
			sigs = append(sigs, ' ')
		}
		sigs = k.append(sigs, id, ts, body)
	}
	h[HeaderSignature] = []string{string(sigs)}
}

// Verify checks that body was signed with the secret, or with the private key of a public one
// ("whpk_"), at most tolerance before or after now. Signatures are compared in constant time. A
// receiver that must not act twice on a message has to remember the ids it saw.
func Verify(secret string, h http.Header, body []byte, now time.Time, tolerance time.Duration) error {
	keys, err := parseKeys(secret)
	if err != nil {
		return err
	}
	id, ts, sigs := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	if id == "" || ts == "" || sigs == "" {
		return fmt.Errorf("%w: want %s, %s and %s", ErrUnsigned, HeaderID, HeaderTimestamp, HeaderSignature)
	}
	sec, err := strconv.ParseInt(ts, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %s is not a number of seconds", ErrUnsigned, HeaderTimestamp)
	}
	if age := now.Sub(time.Unix(sec, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("%w: made %v ago, tolerated are %v", ErrStale, age.Round(time.Second), tolerance)
	}
	for _, k := range keys {
		for sig := range strings.FieldsSeq(sigs) {
			if k.made(sig, id, ts, body) {
				return nil
			}
		}
	}
	return ErrForged
}
