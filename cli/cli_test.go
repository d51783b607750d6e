package cli_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cli"
)

type user struct {
	ID string `json:"user_id"`
}

type greeting struct {
	Text string `json:"text"`
}

// chain is a typed chain of a user's own program.
func chain() weir.Chain[user, struct{}] {
	greet := weir.Action[user, greeting]{Name: "greet", Handle: func(_ context.Context, b *weir.Batch[user, greeting]) error {
		for i, it := range b.Items() {
			b.Done(i, greeting{"hello " + it.Value.ID})
		}
		return nil
	}}
	send := weir.Action[greeting, struct{}]{Name: "send", Handle: func(_ context.Context, b *weir.Batch[greeting, struct{}]) error {
		for i, it := range b.Items() {
			if it.Value.Text != "hello "+it.ID {
				b.Fail(i, "no_greeting", nil)
			}
		}
		b.DoneRest()
		return nil
	}}
	return weir.Then(weir.Start(greet), send, func(_ weir.Item[user], g greeting) greeting { return g })
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mine": func() { os.Exit(cli.Main(context.Background(), chain().Steps()...)) },
	})
}

func TestOwnActionsAreCompiledIn(t *testing.T) {
	testscript.Run(t, testscript.Params{Files: []string{"testdata/own.txtar"}})
}
