package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
)

// Scope is a permission. Each is granted separately; [Admin] alone includes the others.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // see bulk actions, items, reports
	Submit  Scope = "submit"  // create, fill, seal and start bulk actions
	Control Scope = "control" // pause, resume, cancel, retry, change limits
	Approve Scope = "approve" // let a bulk action pass its canary
	Admin   Scope = "admin"   // all of them, and actions, connections, audit
)

// Principal is the caller of a request, as your login knows them.
type Principal struct {
	// Name identifies the caller: limits on requests are counted by it, and the audit log has it. At most 100 bytes.
	Name string
	// Scopes is what the caller may do.
	Scopes []Scope
	// Tenants are the tenants that the caller sees; everything else looks as if it did not exist.
	Tenants []string
	// AllTenants is for callers who see every tenant, and what tenants share: nodes, resources, metrics.
	AllTenants bool
}

// SignInError is what Options.Principal returns if no one is signed in. The API answers with 401.
type SignInError struct {
	// URL is where a person signs in, as in "/login?next=/bulk/ui/": the pages redirect there. Default: they answer
	// with 401.
	URL string
}

// Error implements error.
func (e *SignInError) Error() string { return "no one is signed in" }

// maxName bounds the length of a principal's name, which is stored with each change.
const maxName = 100

// inner returns the principal as the service knows callers. A mistake in it must not open more than was meant, so it
// is an error.
func (p *Principal) inner() (access.Principal, error) {
	out := access.Principal{KeyID: "user:" + p.Name, Name: p.Name, Tenants: p.Tenants}
	switch {
	case p.Name == "" || len(p.Name) > maxName:
		return access.Principal{}, fmt.Errorf("principal: Name has %d bytes, not 1 to %d", len(p.Name), maxName)
	case p.AllTenants == (len(p.Tenants) > 0):
		return access.Principal{}, fmt.Errorf("principal %q: set Tenants or AllTenants, and not both", p.Name)
	}
	for _, s := range p.Scopes {
		switch s {
		case Read, Submit, Control, Approve, Admin:
			out.Scopes = append(out.Scopes, access.Scope(s))
		default:
			return access.Principal{}, fmt.Errorf("principal %q: %q is not a scope", p.Name, s)
		}
	}
	return out, nil
}

// authenticate turns the function of a user into that of the service.
func authenticate(ask func(*http.Request) (Principal, error)) func(*http.Request) (access.Principal, error) {
	if ask == nil {
		return nil
	}
	return func(r *http.Request) (access.Principal, error) {
		p, err := ask(r)
		if signIn, ok := errors.AsType[*SignInError](err); ok {
			return access.Principal{}, &server.SignInError{URL: signIn.URL}
		}
		if err != nil {
			return access.Principal{}, fmt.Errorf("principal of the request: %w", err)
		}
		return p.inner()
	}
}
