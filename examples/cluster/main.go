// Command cluster runs three nodes on one Redis, as three processes, and kills one
// of them in the middle: nothing is lost, a small bulk action does not wait for a
// large one, and the three together keep one limit.
//
//	go run ./examples/cluster
//
// It needs a Redis or Valkey, by default on port 6379 of this machine. A node is
// in node.go; the rest starts three of them and gives them work.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
)

func main() {
	redis := flag.String("redis", "127.0.0.1:6379", "host:port of a Redis or Valkey")
	items := flag.Int("items", 150_000, "items of the large bulk action")
	name := flag.String("node", "", "run as this node, for the command itself")
	flag.Parse()
	var err error
	if *name != "" {
		err = node(*name, *redis, os.Stdout)
	} else {
		err = show(context.Background(), *redis, *items, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// show starts the nodes, gives them work, and kills one of them.
func show(ctx context.Context, redis string, items int, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var nodes []*exec.Cmd
	for i := range 3 { // this same program, as a node
		n := exec.CommandContext(ctx, self, "-node", fmt.Sprint("node ", i+1), "-redis", redis)
		n.Stdout, n.Stderr = out, os.Stderr
		n.Cancel = func() error { return n.Process.Signal(syscall.SIGTERM) } // it hands over before it ends
		if err := n.Start(); err != nil {
			return err
		}
		defer func() { stop(); _ = n.Wait() }() // a killed process always ends with an error
		nodes = append(nodes, n)
	}
	// A server that has just started may have forgotten who uses how much of a
	// limit: nothing that has one runs before every node could tell it again.
	time.Sleep(4 * time.Second)
	store, err := connect(ctx, redis)
	if err != nil {
		return err
	}
	defer store.Close()
	eng, err := engine.Open(ctx, store, engine.Options{}) // submits and watches; does not Run
	if err != nil {
		return err
	}
	send := message(&atomic.Int64{})
	if err := eng.Handle(send); err != nil {
		return err
	}
	return work(ctx, eng, send, items, nodes[1].Process, out)
}

// work submits a large and a small bulk action, kills a node, and waits for both.
func work(ctx context.Context, eng *engine.Engine, send weir.Action[User, string], items int, second *os.Process,
	out io.Writer) error {
	began := time.Now()
	large, err := engine.Submit(ctx, eng, send, users(items), weir.Spec{Name: "newsletter", Tenant: "large"})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "submitted %d items of a large tenant as %s in %v\n", items, large.ID(),
		time.Since(began).Round(time.Millisecond))
	time.Sleep(3 * time.Second) // let it run at full speed

	began = time.Now()
	small, err := engine.Submit(ctx, eng, send, users(300), weir.Spec{Name: "welcome", Tenant: "small"})
	if err != nil {
		return err
	}
	if _, err := small.Wait(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "300 items of a small tenant were done after %v, beside the large one\n",
		time.Since(began).Round(time.Millisecond))

	if err := second.Kill(); err != nil {
		return err
	}
	fmt.Fprintln(out, "node 2 was killed (kill -9); its partitions go to the others when its lease is over")
	report, err := large.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "large: %d done, %d failed, in %v\n", report.Counts.Done, report.Counts.Failed,
		time.Duration(report.Duration).Round(100*time.Millisecond))
	if report.Counts.Done != int64(items) {
		return fmt.Errorf("%d of %d items are done", report.Counts.Done, items)
	}
	return nil
}

func users(n int) iter.Seq2[weir.Item[User], error] {
	return func(yield func(weir.Item[User], error) bool) {
		for i := range n {
			if id := fmt.Sprint("user-", i); !yield(weir.Item[User]{ID: id, Value: User{id + "@example.com"}}, nil) {
				return
			}
		}
	}
}
