package outside

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store/memstore"
)

func TestAServiceInOnesOwnProgram(t *testing.T) {
	key, err := server.VaultKeyFile(filepath.Join(t.TempDir(), "vault.key"))
	ok(t, err)
	log, signedOut := slog.New(slog.DiscardHandler), &server.SignInError{URL: "/login"}
	eng, err := engine.Open(t.Context(), memstore.New(memstore.Options{}), engine.Options{Partitions: 1, Logger: log})
	ok(t, err)
	srv, err := server.New(t.Context(), eng, server.Options{Prefix: "/bulk", VaultKey: key, Logger: log,
		Principal: func(r *http.Request) (server.Principal, error) {
			if r.Header.Get("X-User") == "" {
				return server.Principal{}, signedOut
			}
			return server.Principal{Name: r.Header.Get("X-User"), AllTenants: true, Scopes: []server.Scope{server.Admin}}, nil
		}})
	ok(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()
	for user, want := range map[string]int{"": http.StatusUnauthorized, "ann": http.StatusOK} {
		r, w := httptest.NewRequest(http.MethodGet, "/bulk/v1/whoami", nil), httptest.NewRecorder()
		r.Header.Set("X-User", user)
		if srv.ServeHTTP(w, r); w.Code != want {
			t.Errorf("as %q: %d %s, want %d", user, w.Code, w.Body, want)
		}
	}
	if signedOut.Error() == "" {
		t.Error("the error says nothing")
	}
	stop()
	ok(t, <-ended)
}
