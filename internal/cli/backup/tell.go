package backup

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/engine/backup"
)

// result is what a command prints for programs.
type result struct {
	File string `json:"file"`
	backup.Summary
}

// tell prints what a file has.
func tell(env *command.Env, format command.Format, verb string, at place, sum backup.Summary) error {
	if format == command.JSON {
		if _, toStdout := at.(stream); !toStdout || verb != "backup" {
			return command.PrintJSON(env, result{at.String(), sum})
		}
		return nil // stdout has the backup
	}
	env.Screen().Print(fmt.Sprintf("  %s %s: taken %s by weir %s; %s, %s, %s, %s", verb, at, term.ClockTime(sum.Taken), sum.Version,
		term.Plural(sum.Blocks, "block", "blocks"), term.Plural(sum.Rows, "row", "rows"),
		term.Plural(sum.Messages, "message", "messages"), term.Plural(sum.Records, "record", "records")))
	return nil
}

// progress shows how much has gone by, on a terminal.
type progress struct {
	screen *term.Screen
	word   string
	bytes  atomic.Int64
	quit   chan struct{}
	ended  chan struct{}
}

func startProgress(env *command.Env, word string) *progress {
	p := &progress{screen: env.Screen(), word: word, quit: make(chan struct{}), ended: make(chan struct{})}
	if !p.screen.Live() {
		close(p.ended)
		return p
	}
	go func() {
		defer close(p.ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.quit:
				p.screen.Draw(nil)
				return
			case <-tick.C:
				p.screen.Draw([]string{fmt.Sprintf("  %s %s MB", p.word, term.Number(p.bytes.Load()/1e6))})
			}
		}
	}()
	return p
}

// Write counts.
func (p *progress) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}

func (p *progress) end() {
	close(p.quit)
	<-p.ended
}
