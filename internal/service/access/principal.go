package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Scope is a permission of a key. Each is granted separately; [Admin] alone includes the others.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // see bulk actions, items, reports
	Submit  Scope = "submit"  // create, fill, seal and start bulk actions
	Control Scope = "control" // pause, resume, cancel, retry, change limits
	Approve Scope = "approve" // let a bulk action pass its canary
	Admin   Scope = "admin"   // all of them, and keys, actions, resources, audit
)

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{Read, Submit, Control, Approve, Admin} }

// Errors to branch on with [errors.Is]. Both get the same 401 response: only the owner of a key
// may learn what is wrong with it.
var (
	// ErrNoCredentials means that the request has no key.
	ErrNoCredentials = errors.New("no API key was sent; send the header Authorization: Bearer wk_…")
	// ErrBadCredentials means that the key is unknown, revoked or expired.
	ErrBadCredentials = errors.New("the API key is not valid")
)

// MissingScopeError means that a key is valid but lacks a scope.
type MissingScopeError struct{ Scope Scope }

// Error names the scope.
func (e *MissingScopeError) Error() string {
	return fmt.Sprintf("the API key lacks the scope %q; use a key that has it, or ask an administrator for one", e.Scope)
}

// Principal is the caller of a request. The zero value has no scope and sees nothing.
type Principal struct {
	KeyID  string
	Name   string
	Scopes []Scope
	// Tenants are the tenants it sees; none means all.
	Tenants []string
}

// Local returns the caller of a server that has no keys and listens on loopback only.
func Local() Principal { return Principal{KeyID: "local", Name: "local", Scopes: []Scope{Admin}} }

// May reports whether the principal has a scope.
func (p Principal) May(s Scope) bool {
	return p.KeyID != "" && (slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, Admin))
}

// Need returns a *[MissingScopeError] unless the principal has a scope.
func (p Principal) Need(s Scope) error {
	if p.May(s) {
		return nil
	}
	return &MissingScopeError{s}
}

// Sees reports whether the principal may see a tenant. Objects of another tenant look
// like missing ones.
func (p Principal) Sees(tenant string) bool {
	return p.SeesAll() || p.KeyID != "" && slices.Contains(p.Tenants, tenant)
}

// SeesAll reports whether the principal is not limited to some tenants, and so also sees
// objects without a tenant.
func (p Principal) SeesAll() bool { return p.KeyID != "" && len(p.Tenants) == 0 }

// covers reports whether the principal sees all that a key with these tenants sees.
func (p Principal) covers(tenants []string) bool {
	if len(tenants) == 0 {
		return p.SeesAll()
	}
	return !slices.ContainsFunc(tenants, func(t string) bool { return !p.Sees(t) })
}

// scopeNames is for messages.
func scopeNames() string {
	var names []string
	for _, s := range Scopes() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
