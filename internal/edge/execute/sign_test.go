package execute

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/weirhq/weir"
)

// Two secrets of 24 and 64 bytes.
var (
	testSecret  = "whsec_" + base64.StdEncoding.EncodeToString([]byte("abcdefghijklmnopqrstuvwx"))
	otherSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("7", 64)))
)

func signed(t *testing.T, secret string, at time.Time, body string) http.Header {
	t.Helper()
	s, err := NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	s.Sign(h, "tsk_7", at, []byte(body))
	return h
}

func TestPublishedLibraryVerifiesOurSignature(t *testing.T) {
	for _, secret := range []string{testSecret, otherSecret} {
		hook, err := oracle.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"", `{"items":[]}`, strings.Repeat("é", 10_000)} {
			if err := hook.Verify([]byte(body), signed(t, secret, time.Now(), body)); err != nil {
				t.Errorf("oracle refuses our signature of %.20q: %v", body, err)
			}
		}
	}
}

func TestWeVerifyThePublishedLibrarysSignature(t *testing.T) {
	hook, err := oracle.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := hook.Sign("msg_1", noon, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{HeaderID: {"msg_1"}, HeaderTimestamp: {"1772366400"}, HeaderSignature: {sig}}
	if err := Verify(testSecret, h, []byte("hello"), noon, 0); err != nil {
		t.Errorf("Verify = %v, want nil", err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	const tolerance = 5 * time.Minute
	for _, tt := range []struct {
		name   string
		change func(h http.Header)
		body   string
		now    time.Time
		want   error
	}{
		{"nothing", func(http.Header) {}, "body", noon, nil},
		{"nothing at the edge of time", func(http.Header) {}, "body", noon.Add(tolerance), nil},
		{"another body", func(http.Header) {}, "bodY", noon, ErrForged},
		{"another id", func(h http.Header) { h.Set(HeaderID, "tsk_8") }, "body", noon, ErrForged},
		{"another time", func(h http.Header) { h.Set(HeaderTimestamp, "1772366401") }, "body", noon, ErrForged},
		{"another signature", func(h http.Header) { h.Set(HeaderSignature, "v1,"+strings.Repeat("A", 43)+"=") }, "body", noon, ErrForged},
		{"another version", func(h http.Header) { h.Set(HeaderSignature, "v2"+h.Get(HeaderSignature)[2:]) }, "body", noon, ErrForged},
		{"a signature that is not base64", func(h http.Header) { h.Set(HeaderSignature, "v1,??") }, "body", noon, ErrForged},
		{"an old one", func(http.Header) {}, "body", noon.Add(tolerance + time.Second), ErrStale},
		{"one of the future", func(http.Header) {}, "body", noon.Add(-tolerance - time.Second), ErrStale},
		{"a time out of all bounds", func(h http.Header) { h.Set(HeaderTimestamp, "9223372036854775807") }, "body", noon, ErrStale},
		{"no id", func(h http.Header) { h.Del(HeaderID) }, "body", noon, ErrUnsigned},
		{"no time", func(h http.Header) { h.Set(HeaderTimestamp, "noon") }, "body", noon, ErrUnsigned},
		{"no signature", func(h http.Header) { h.Del(HeaderSignature) }, "body", noon, ErrUnsigned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := signed(t, testSecret, noon, "body")
			tt.change(h)
			if err := Verify(testSecret, h, []byte(tt.body), tt.now, tolerance); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestSecretsChangeWithoutAGap(t *testing.T) {
	h := signed(t, testSecret+" "+otherSecret, noon, "body")
	for _, secret := range []string{testSecret, otherSecret, otherSecret + " " + testSecret} {
		if err := Verify(secret, h, []byte("body"), noon, 0); err != nil {
			t.Errorf("receiver with %d secrets: %v", strings.Count(secret, "whsec_"), err)
		}
	}
	if err := Verify(testSecret, signed(t, otherSecret, noon, "body"), []byte("body"), noon, 0); !errors.Is(err, ErrForged) {
		t.Errorf("Verify with another secret = %v, want ErrForged", err)
	}
}

func TestCallsAreSigned(t *testing.T) {
	var verdict error
	r := serve(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		verdict = Verify(testSecret, req.Header, body, noon, 0)
		if id := req.Header.Get("webhook-id"); verdict == nil && id != "tsk_7" {
			verdict = errors.New("id is " + id)
		}
		_, _ = w.Write([]byte(`{"default":"done"}`))
	}, func(s *weir.Step) { s.Endpoint.Secret = testSecret })
	if err := run(t, r, newTask(3)); err != nil || verdict != nil {
		t.Errorf("call = %v, signature: %v; want nil, nil", err, verdict)
	}
}
