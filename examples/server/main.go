// Server is both sides of a weir server: an HTTP action that gives rewards, and
// a client that has it called for many users. Try it:
//
//	go run ./cmd/weir serve --egress-allow loopback &
//	go run ./examples/server
//
// With -serve it is the action alone, for the commands in docs/server.md.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func main() {
	server := flag.String("server", "http://localhost:8080", "the weir server")
	listen := flag.String("listen", "localhost:9000", "where the action listens")
	users := flag.Int("users", 10_000, "how many users get a reward")
	serve := flag.Bool("serve", false, "run only the action until Ctrl-C, without checking signatures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *server, *listen, *users, *serve, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run starts the action, and has weir call it for all users.
func run(ctx context.Context, server, listen string, users int, alone bool, out io.Writer) error {
	secret := ""
	if !alone {
		secret = newSecret()
	}
	handler, err := newWallet(secret)
	if err != nil {
		return err
	}
	door, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = web.Serve(door) }() // it ends when it is closed
	defer web.Close()
	at := "http://" + door.Addr().String()
	if alone {
		fmt.Fprintf(out, "the action is at %s/award\n", at)
		<-ctx.Done()
		return nil
	}
	return campaign(ctx, server, at, secret, users, out)
}

// newSecret draws what weir and the action share.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// campaign has every user rewarded, and prints how it goes.
func campaign(ctx context.Context, server, action, secret string, users int, out io.Writer) error {
	c, err := client.New(client.Options{Server: server})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Actions().Put(ctx, "award",
		api.Action{URL: action + "/award", UndoURL: action + "/award/undo", Secret: secret, Batch: 100}); err != nil {
		return err
	}
	b, err := c.Create(ctx, api.NewBulkAction{
		Name: "spring reward", Tenant: "growth", ItemID: "user_id", Steps: []api.Step{{Action: "award"}},
		Rules: api.Rules{StopOn: &api.StopOn{FailureRate: 0.5}},
	})
	if err != nil {
		return err
	}
	if _, err := c.Append(ctx, b.ID, "application/x-ndjson", bytes.NewReader(rows(users)), "all"); err != nil {
		return err
	}
	want := int64(users)
	if _, err := c.Seal(ctx, b.ID, api.Seal{ExpectedItems: &want, Start: true}); err != nil {
		return err
	}
	for p, err := range c.Watch(ctx, b.ID) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d of %d ended, %.0f/s\n", p.State, p.Counts.Done+p.Counts.Failed, p.Counts.Total, p.Rate)
	}
	return report(ctx, c, b.ID, out)
}

// report prints what became of it, and of one user.
func report(ctx context.Context, c *client.Client, id string, out io.Writer) error {
	r, err := c.Report(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s in %v: %d done, %d failed\n", r.State, r.Duration, r.Counts.Done, r.Counts.Failed)
	for _, g := range r.Errors {
		fmt.Fprintf(out, "%d failed: %s: %s\n", g.Count, g.Code, g.Message)
	}
	found, err := c.Lookup(ctx, api.Lookup{ID: "u1", Tenant: "growth"})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "u1 is %s: %s\n", found.History[0].State, found.History[0].Output)
	return nil
}

// rows are the users as NDJSON. Every hundredth has closed the account.
func rows(users int) []byte {
	var b bytes.Buffer
	for i := range users {
		fmt.Fprintf(&b, "{\"user_id\":\"u%d\",\"amount\":500,\"closed\":%t}\n", i, i%100 == 99)
	}
	return b.Bytes()
}
