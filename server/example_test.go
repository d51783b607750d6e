package server_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store/memstore"
)

// A program with a login of its own mounts weir under /bulk/.
func Example() {
	award := weir.Action[map[string]int, string]{Name: "award", Handle: func(_ context.Context, b *weir.Batch[map[string]int, string]) error {
		b.DoneRest()
		return nil
	}}
	// Your login: here a header, in practice a session.
	principal := func(r *http.Request) (server.Principal, error) {
		name := r.Header.Get("Authorization")
		if name == "" {
			return server.Principal{}, &server.SignInError{URL: "/login"}
		}
		return server.Principal{Name: name, Tenants: []string{"acme"}, Scopes: []server.Scope{server.Read, server.Submit}}, nil
	}
	dir, err := os.MkdirTemp("", "weir")
	check(err)
	defer os.RemoveAll(dir)
	key, err := server.VaultKeyFile(filepath.Join(dir, "vault.key"))
	check(err)

	ctx, stop := context.WithCancel(context.Background())
	eng, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	check(eng.Handle(award))
	srv, err := server.New(ctx, eng, server.Options{Prefix: "/bulk", Principal: principal, VaultKey: key, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	mux := http.NewServeMux()
	mux.Handle("/bulk/", srv)
	web := httptest.NewServer(mux)
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()

	c, err := client.New(client.Options{Server: web.URL + "/bulk", Key: "ann"})
	check(err)
	b, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, Items: []api.Item{{ID: "u1"}, {ID: "u2"}}, Start: true})
	check(err)
	for p, err := range c.Watch(ctx, b.ID) {
		check(err)
		if p.State == api.Completed {
			fmt.Println(b.Tenant, p.Counts.Done, "done")
		}
	}
	c.Close()
	stop() // running tasks finish
	check(<-ended)
	web.Close()
	// Output: acme 2 done
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
