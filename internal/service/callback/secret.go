package callback

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// Sealer encrypts secrets for the store. A secret sealed for one place opens for that place only.
type Sealer interface {
	Seal(place string, plain []byte) (string, error)
	Open(place, sealed string) ([]byte, error)
}

// NewSecret returns a random secret of 32 bytes to share with an endpoint.
func NewSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// secret signs until it expires; the zero time is never.
type secret struct {
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

// secrets holds the secrets of one endpoint, the newest first.
type secrets []secret

// at returns the secrets that sign at now, in the signer's format.
func (s secrets) at(now time.Time) string {
	var texts []string
	for _, one := range s {
		if one.Until.IsZero() || one.Until.After(now) {
			texts = append(texts, one.Text)
		}
	}
	return strings.Join(texts, " ")
}

// rotate puts a new secret first. The previous one also signs for keep, so that a receiver may
// know either; expired secrets are dropped.
func (s secrets) rotate(text string, now time.Time, keep time.Duration) secrets {
	out := secrets{{Text: text}}
	for _, old := range s {
		if end := now.Add(keep); old.Until.IsZero() || old.Until.After(end) {
			old.Until = end
		}
		if old.Until.After(now) && old.Text != text {
			out = append(out, old)
		}
	}
	return out
}

// sealing stores secrets sealed; without a Sealer it refuses them.
type sealing struct{ with Sealer }

func (x sealing) seal(place string, s secrets) (string, error) {
	if x.with == nil {
		return "", &weir.FieldError{
			Code: "out_of_range", Field: "secret", Problem: "cannot be stored: the server has no key to seal it with",
			Fix: "give the server a key, or leave the secret out",
		}
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode secrets: %w", err)
	}
	return x.with.Seal(place, plain)
}

// errUnreadable means that a secret cannot be opened, which the operator can fix.
var errUnreadable = errors.New("the server cannot open the secret")

func (x sealing) open(place, sealed string) (secrets, error) {
	if sealed == "" {
		return nil, nil
	}
	if x.with == nil {
		return nil, fmt.Errorf("%w of %s: it has no key", errUnreadable, place)
	}
	plain, err := x.with.Open(place, sealed)
	if err != nil {
		return nil, fmt.Errorf("%w of %s: %w", errUnreadable, place, err)
	}
	var s secrets
	if err := json.Unmarshal(plain, &s); err != nil {
		return nil, fmt.Errorf("%w of %s: it is damaged", errUnreadable, place) // the cause could quote it
	}
	return s, nil
}

// Places that secrets are sealed for.
func placeOfEndpoint(id string) string { return "webhook/" + id }
func placeOfDelivery(id string) string { return "delivery/" + id }

// checkSecret accepts one secret that can sign.
func checkSecret(text string) error {
	if strings.ContainsAny(text, " \t\r\n") {
		return &weir.FieldError{Code: "bad_secret", Field: "secret", Problem: "holds more than one secret",
			Fix: "send one; the previous one stays valid for a while"}
	}
	_, err := execute.NewSigner(text)
	return err
}
