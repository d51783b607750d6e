package execute

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/weirhq/weir"
)

// A pair that is published for tests, and the message that the tests of the
// published libraries sign.
const (
	privateKey = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	publicKey  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	vectorID   = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody = `{"test": 2432232314}`
)

var vectorAt = time.Unix(1614265330, 0)

func TestPublishedVectors(t *testing.T) {
	seed := strings.TrimPrefix(privateKey, "whsk_")
	raw, err := base64.StdEncoding.DecodeString(seed)
	if err != nil {
		t.Fatal(err)
	}
	const (
		shared = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		v1     = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		v1a    = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
	)
	for _, tt := range []struct{ name, secret, receiver, want string }{
		{"shared secret", shared, shared, v1},
		{"private key with its public one", privateKey, publicKey, v1a},
		{"private key alone", "whsk_" + base64.StdEncoding.EncodeToString(raw[:ed25519.SeedSize]), publicKey, v1a},
		{"change from one kind to the other", shared + " " + privateKey, publicKey, v1 + " " + v1a},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewSigner(tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{}
			s.Sign(h, vectorID, vectorAt, []byte(vectorBody))
			if got := h.Get(HeaderSignature); got != tt.want {
				t.Errorf("signature = %s, want %s", got, tt.want)
			}
			if err := Verify(tt.receiver, h, []byte(vectorBody), vectorAt, 0); err != nil {
				t.Errorf("receiver with %.5s: %v", tt.receiver, err)
			}
		})
	}
}

// The published library knows no ed25519; it must still find its own signature.
func TestPublishedLibraryPassesOverSignaturesOfOtherKinds(t *testing.T) {
	hook, err := oracle.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	h := signed(t, privateKey+" "+otherSecret+" "+testSecret, time.Now(), "body")
	if err := hook.Verify([]byte("body"), h); err != nil {
		t.Errorf("oracle refuses a header of three signatures: %v", err)
	}
}

func TestOneChangedByteIsFound(t *testing.T) {
	const body = `{"type":"bulk_action.completed"}`
	for name, secrets := range map[string][2]string{
		"shared secret": {testSecret, testSecret}, "key pair": {privateKey, publicKey},
	} {
		t.Run(name, func(t *testing.T) {
			h := signed(t, secrets[0], noon, body)
			sig := h.Get(HeaderSignature)
			_, text, _ := strings.Cut(sig, ",")
			raw, _ := base64.StdEncoding.DecodeString(text)
			for i := range raw {
				raw[i] ^= 1
				h.Set(HeaderSignature, sig[:len(sig)-len(text)]+base64.StdEncoding.EncodeToString(raw))
				raw[i] ^= 1
				if err := Verify(secrets[1], h, []byte(body), noon, 0); !errors.Is(err, ErrForged) {
					t.Fatalf("byte %d of the signature changed: %v, want ErrForged", i, err)
				}
			}
			h.Set(HeaderSignature, sig)
			for i := range body {
				changed := []byte(body)
				changed[i] ^= 1
				if err := Verify(secrets[1], h, changed, noon, 0); !errors.Is(err, ErrForged) {
					t.Fatalf("byte %d of the body changed: %v, want ErrForged", i, err)
				}
			}
			for i := range "tsk_7" {
				id := []byte("tsk_7")
				id[i] ^= 1
				h.Set(HeaderID, string(id))
				if err := Verify(secrets[1], h, []byte(body), noon, 0); !errors.Is(err, ErrForged) {
					t.Fatalf("byte %d of the id changed: %v, want ErrForged", i, err)
				}
			}
		})
	}
}

func TestBadKeys(t *testing.T) {
	pair, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(privateKey, "whsk_"))
	pair[40] ^= 1
	for _, tt := range []struct{ name, secret, problem string }{
		{"a public key", publicKey, "cannot sign"},
		{"a pair that does not fit", "whsk_" + base64.StdEncoding.EncodeToString(pair), "another's public key"},
		{"a short private key", "whsk_AAAA", "3 bytes"},
		{"a short public key", "whpk_AAAA", "3 bytes"},
		{"an unknown prefix", "whxx_AAAA", "whsec_"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewSigner(tt.secret)
			var field *weir.FieldError
			if !errors.As(err, &field) || field.Code != "bad_secret" || !strings.Contains(field.Problem, tt.problem) {
				t.Errorf("NewSigner = %v, want bad_secret: %s", err, tt.problem)
			}
		})
	}
	if _, err := PublicKey(testSecret); err == nil {
		t.Error("PublicKey of a shared secret = nil error, want one")
	}
	if got, err := PublicKey(privateKey); got != publicKey || err != nil {
		t.Errorf("PublicKey = %q, %v, want %q", got, err, publicKey)
	}
}
