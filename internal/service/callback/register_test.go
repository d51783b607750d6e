package callback

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/store/memstore"
)

const privateKey = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="

func TestBadEndpointsAreRefused(t *testing.T) {
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, nil)
	for _, tt := range []struct {
		name   string
		e      Endpoint
		secret string
		want   string
	}{
		{"a good one", Endpoint{URL: hookURL, Types: []string{TypeStopped}}, "", ""},
		{"a private key", Endpoint{URL: hookURL}, privateKey, ""},
		{"two faults at once", Endpoint{URL: "x", Types: []string{TypeStopped, "bulk_action.exploded"}}, "", "bad_url url, bad_value types[1]"},
		{"a long note", Endpoint{URL: hookURL, Note: strings.Repeat("x", 201)}, "", "out_of_range note"},
		{"a short secret", Endpoint{URL: hookURL}, "whsec_AAAA", "bad_secret"},
		{"two secrets", Endpoint{URL: hookURL}, NewSecret() + " " + NewSecret(), "bad_secret"},
		{"a public key", Endpoint{URL: hookURL}, "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "bad_secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := everything(t, n.opts.Store.(*memstore.Store))
			_, _, err := n.Register(t.Context(), tt.e, tt.secret)
			if got := fieldCodes(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("Register = %v (%s), want %q", err, got, tt.want)
			}
			if after := everything(t, n.opts.Store.(*memstore.Store)); err != nil && after != before {
				t.Error("something was kept of a refused endpoint")
			}
		})
	}
}

func TestSecretsAreNeverKeptInClear(t *testing.T) {
	s := memstore.New(memstore.Options{})
	n := open(t, s, &receiver{}, nil)
	id, first := register(t, n, hookURL)
	_, second, err := n.Rotate(t.Context(), id, "", time.Hour, "key_1")
	if err != nil {
		t.Fatal(err)
	}
	own := NewSecret()
	note(t, n, completed("ba_1"), &Target{URL: hookURL, Secret: own})
	all := everything(t, s)
	for _, secretText := range []string{first, second, own} {
		bare := strings.TrimPrefix(secretText, "whsec_")
		raw, _ := base64.StdEncoding.DecodeString(bare)
		for _, form := range []string{bare, string(raw), base64.StdEncoding.EncodeToString([]byte(secretText))} {
			if strings.Contains(all, form) {
				t.Errorf("the store holds the secret %.12s… in clear", form)
			}
		}
	}
}

func TestWithoutASealerSecretsAreRefused(t *testing.T) {
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, func(o *Options) { o.Sealer = nil })
	if _, _, err := n.Register(t.Context(), Endpoint{URL: hookURL}, ""); fieldCodes(err) == "" {
		t.Errorf("Register = %v, want a field error", err)
	}
}

func TestEndpointsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, memstore.New(memstore.Options{}), &receiver{}, nil)
		id, _ := register(t, n, hookURL)
		time.Sleep(time.Minute)
		off, err := n.Change(t.Context(), id, func(e *Endpoint) error {
			e.ID, e.Enabled, e.Reason, e.URL = "whk_other", false, "maintenance", "https://new.example.com/"
			return nil
		})
		if err != nil || off.ID != id || off.Enabled || off.Disabled.IsZero() || off.Reason != "maintenance" {
			t.Errorf("Change = %+v, %v, want switched off, with its id", off, err)
		}
		on, err := n.Change(t.Context(), id, func(e *Endpoint) error { e.Enabled = true; return nil })
		if err != nil || !on.Enabled || on.Reason != "" || !on.Disabled.IsZero() || on.URL != "https://new.example.com/" {
			t.Errorf("Change = %+v, %v, want switched on again", on, err)
		}
		if _, err := n.Change(t.Context(), id, func(e *Endpoint) error { e.URL = "x"; return nil }); fieldCodes(err) != "bad_url url" {
			t.Errorf("Change to a bad URL = %v", err)
		}
		if err := n.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Endpoint(t.Context(), id); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Endpoint after Remove = %v, want ErrNotFound", err)
		}
	})
}

func TestEndpointsAreListedByAge(t *testing.T) {
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, nil)
	a, _ := register(t, n, hookURL)
	b, _ := register(t, n, hookURL)
	first, err := n.ListEndpoints(t.Context(), "", 1)
	if err != nil || len(first) != 1 || first[0].ID != a {
		t.Fatalf("first page = %+v, %v, want %s", first, err, a)
	}
	rest, err := n.ListEndpoints(t.Context(), a, 10)
	if err != nil || len(rest) != 1 || rest[0].ID != b {
		t.Errorf("second page = %+v, %v, want %s", rest, err, b)
	}
}

// A receiver that knows only the old secret, and one that knows only the new one,
// accept every message while both are valid; without a gap before or after.
func TestSecretsRotateWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		n := open(t, memstore.New(memstore.Options{}), r, nil)
		start(t, n)
		id, old := register(t, n, hookURL)
		accepts := func(secretText string) bool {
			calls := r.got()
			c := calls[len(calls)-1]
			return execute.Verify(secretText, c.header, []byte(c.body), c.at, 0) == nil
		}
		send := func(bulk string) {
			note(t, n, completed(bulk), nil)
			time.Sleep(time.Second)
		}
		send("ba_1")
		if !accepts(old) {
			t.Error("the old secret does not verify before the change")
		}
		e, fresh, err := n.Rotate(t.Context(), id, privateKey, time.Hour, "key_1")
		if err != nil || e.PublicKey == "" {
			t.Fatalf("Rotate = %+v, %v, want a public key", e, err)
		}
		send("ba_2")
		if !accepts(old) || !accepts(e.PublicKey) {
			t.Error("one of both secrets does not verify during the change")
		}
		time.Sleep(time.Hour)
		send("ba_3")
		if accepts(old) || !accepts(fresh) {
			t.Error("after the change, want the new secret alone to verify")
		}
	})
}

func TestACallbackIsSignedWithItsOwnSecretIfItHasOne(t *testing.T) {
	for _, own := range []string{NewSecret(), ""} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			n := open(t, memstore.New(memstore.Options{}), r, nil)
			start(t, n)
			note(t, n, completed("ba_1"), &Target{URL: hookURL, Secret: own})
			time.Sleep(time.Second)
			c := r.got()[0]
			if own != "" && execute.Verify(own, c.header, []byte(c.body), c.at, 0) != nil {
				t.Errorf("headers = %v, want a signature with its secret", c.header)
			}
			if c.header.Get(execute.HeaderID) == "" || c.header.Get(execute.HeaderTimestamp) == "" {
				t.Errorf("headers = %v, want id and timestamp", c.header)
			}
		})
	}
}
