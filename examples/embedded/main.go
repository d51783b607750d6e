// Command embedded is a service with a login of its own, and with weir under /bulk/. Start it, and sign in at /login.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log"
	"net/http"
	"os"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store/pebblestore"
)

var greet = weir.Action[any, any]{Name: "greet", Handle: func(_ context.Context, b *weir.Batch[any, any]) error { b.DoneRest(); return nil }}
var tenants = map[string]string{"ann": "acme", "ben": "beta"} // of the users; the password is the name
var sessions sync.Map                                         // who each is

func login(w http.ResponseWriter, r *http.Request) { // stands for the login that your service has
	name, session, may := r.FormValue("user"), rand.Text(), []server.Scope{server.Read, server.Submit, server.Control}
	if tenants[name] == "" || r.FormValue("password") != name {
		http.Error(w, "sign in at /login?user=ann&password=ann", http.StatusUnauthorized)
		return
	}
	sessions.Store(session, server.Principal{Name: name, Tenants: []string{tenants[name]}, Scopes: may})
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/bulk/ui/", http.StatusSeeOther)
}

func principal(r *http.Request) (server.Principal, error) {
	if c, err := r.Cookie("session"); err == nil {
		if who, ok := sessions.Load(c.Value); ok {
			return who.(server.Principal), nil
		}
	}
	return server.Principal{}, &server.SignInError{URL: "/login"}
}

func main() {
	ctx, data := context.Background(), cmp.Or(os.Getenv("DATA"), "embedded.weir")
	eng := must(engine.Open(ctx, must(pebblestore.Open(data+"/store", pebblestore.Options{})), engine.Options{}))
	eng, key := must(eng, eng.Handle(greet)), must(server.VaultKeyFile(data+"/vault.key"))
	srv := must(server.New(ctx, eng, server.Options{Prefix: "/bulk", Principal: principal, VaultKey: key}))
	http.Handle("/bulk/", srv)
	http.HandleFunc("/login", login)
	go func() { log.Fatal(srv.Run(ctx)) }()
	log.Fatal(http.ListenAndServe(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), nil))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
