package access

import (
	"errors"
	"fmt"
	"testing"
)

// Every scope by every scope, for a key that is bound to one tenant and one that is not.
func TestScopesAndTenants(t *testing.T) {
	for _, has := range Scopes() {
		for _, bound := range []bool{false, true} {
			p := Principal{KeyID: "key_1", Scopes: []Scope{has}}
			if bound {
				p.Tenants = []string{"growth"}
			}
			for _, wants := range Scopes() {
				want := has == wants || has == Admin
				err := p.Need(wants)
				missing, ok := errors.AsType[*MissingScopeError](err)
				if p.May(wants) != want || (err == nil) != want || ok && missing.Scope != wants {
					t.Errorf("a key with %s: May(%s) = %v, Need = %v, want %v", has, wants, p.May(wants), err, want)
				}
			}
			for tenant, want := range map[string]bool{"growth": true, "other": !bound, "": !bound, "GROWTH": !bound, "growth ": !bound} {
				if got := p.Sees(tenant); got != want {
					t.Errorf("a key with %s, bound %v: Sees(%q) = %v, want %v", has, bound, tenant, got, want)
				}
			}
		}
	}
}

func TestNobodyMayNothing(t *testing.T) {
	for name, p := range map[string]Principal{"zero": {}, "scopes without a key": {Scopes: Scopes()}, "tenants without a key": {Tenants: []string{"growth"}}} {
		for _, s := range Scopes() {
			if p.May(s) || p.Need(s) == nil {
				t.Errorf("%s: May(%s)", name, s)
			}
		}
		if p.Sees("growth") || p.Sees("") || p.SeesAll() {
			t.Errorf("%s sees something", name)
		}
	}
}

func TestMissingScopeIsNamed(t *testing.T) {
	if got := fmt.Sprint(Principal{KeyID: "key_1"}.Need(Control)); got != `the API key lacks the scope "control"; use a key that has it, or ask an administrator for one` {
		t.Errorf("Need = %s", got)
	}
}
