package assembly

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/weirhq/weir/internal/dashboard"
	"github.com/weirhq/weir/internal/edge/mount"
	"github.com/weirhq/weir/internal/server"
)

// withPages returns a handler of the API and of the pages, which are a client of it.
func (n *Node) withPages() http.Handler {
	api := n.server.Handler()
	pages := n.signedIn(dashboard.New(dashboard.Options{
		API: api, Sealer: n.opts.Vault, Prefix: n.opts.Server.Prefix, OwnLogin: n.opts.Server.Authenticate != nil,
		Stop: n.server.Stopping(), Stream: n.server.Stream, Caller: n.server.Caller, ReadOnly: n.opts.ReadOnlyPages, Tour: n.opts.Tour, Version: n.opts.Version, Logger: n.log,
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a ServeMux would redirect paths of the API
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, dashboard.Root+"/"):
			pages.ServeHTTP(w, r)
		case (path == "" || path == "/" || path == dashboard.Root) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			http.Redirect(w, r, n.opts.Server.Prefix+dashboard.Root+"/", http.StatusSeeOther)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// byPerson reports whether a browser asks for a page.
func byPerson(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// mounted answers requests under the prefix, and notes them as they came in.
func (n *Node) mounted(next http.Handler) http.Handler {
	under := mount.Under(n.opts.Server.Prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { under.ServeHTTP(w, server.CameAs(r)) })
}

// signedIn sends people who are not signed in to the login of the program. Without such a login the pages have
// their own.
func (n *Node) signedIn(pages http.Handler) http.Handler {
	caller := n.opts.Server.Authenticate
	if caller == nil {
		return pages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, dashboard.Assets) {
			pages.ServeHTTP(w, r)
			return
		}
		_, err := caller(server.Origin(r))
		signIn, signedOut := errors.AsType[*server.SignInError](err)
		switch {
		case err == nil:
			pages.ServeHTTP(w, r)
		case signedOut && signIn.URL != "" && byPerson(r):
			http.Redirect(w, r, signIn.URL, http.StatusSeeOther)
		case signedOut:
			http.Error(w, "Sign in to see this page.", http.StatusUnauthorized)
		default:
			n.log.LogAttrs(r.Context(), slog.LevelError, "the login of the program failed", slog.Any("error", err))
			http.Error(w, "It could not be found out who you are. Try again in a moment.", http.StatusInternalServerError)
		}
	})
}
