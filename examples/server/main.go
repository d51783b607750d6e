// Server is a client of a weir server: it registers the HTTP action of examples/webhook, and has the
// server call it for many users. Try it:
//
//	go run ./cmd/weir serve --egress-allow loopback &
//	go run ./examples/webhook &
//	go run ./examples/server
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func main() {
	server := flag.String("server", "http://localhost:8080", "the weir server")
	action := flag.String("action", "http://localhost:9000/award", "the URL of the action")
	secret := flag.String("secret", "", "the secret to sign calls with, whsec_...; empty: unsigned")
	users := flag.Int("users", 10_000, "how many users get a reward")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *server, *action, *secret, *users, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run rewards every user, and prints the progress.
func run(ctx context.Context, server, action, secret string, users int, out io.Writer) error {
	c, err := client.New(client.Options{Server: server})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Actions().Put(ctx, "award",
		api.Action{URL: action, UndoURL: action + "/undo", Secret: secret, Batch: 100}); err != nil {
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

// report prints the result, and that of one user.
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

// rows returns the users as NDJSON. Every hundredth has closed the account.
func rows(users int) []byte {
	var b bytes.Buffer
	for i := range users {
		fmt.Fprintf(&b, "{\"user_id\":\"u%d\",\"amount\":500,\"closed\":%t}\n", i, i%100 == 99)
	}
	return b.Bytes()
}
