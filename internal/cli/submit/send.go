package submit

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// A part is what is sent at once, accepted as a whole, and sent again after a cut.
const (
	partItems = 20_000
	partBytes = 8 << 20
)

// sender sends the items of an input in parts. The same input is cut into the
// same parts, so that one that was sent before is recognised by its key.
type sender struct {
	*link.Link
	screen *term.Screen
	in     *spec.Input
	id     string
	skip   int64 // rows that the server has, duplicates included
	sent   int64 // rows in parts so far, those that were skipped among them
	part   bytes.Buffer
	held   int64
	shown  time.Time
}

// all sends everything.
func (s *sender) all(ctx context.Context) error {
	defer s.screen.Draw(nil)
	s.shown = time.Now()
	for it, err := range s.in.All(func() error { return nil }) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.add(ctx, it)
		}
		if err != nil {
			return err
		}
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	if s.sent < s.skip {
		return command.BadUsage("use the same file as before", "the server already has %s, and %s has only %s",
			term.Plural(s.skip, "item", "items"), s.in.Name, term.Number(s.sent))
	}
	return nil
}

func (s *sender) add(ctx context.Context, it weir.RawItem) error {
	s.part.Write(it.Value)
	s.part.WriteByte('\n')
	s.held++
	s.show()
	if s.held < partItems && s.part.Len() < partBytes {
		return nil
	}
	return s.flush(ctx)
}

// flush sends a part, unless the server has it.
func (s *sender) flush(ctx context.Context) error {
	if s.held == 0 {
		return nil
	}
	first := s.sent
	s.sent += s.held
	if s.sent > s.skip {
		// The server has a beginning of this part, but parts are accepted whole: the file is cut differently now, so it is
		// another file, or other flags read it.
		if first < s.skip {
			return command.BadUsage("use the same file and the same flags as before",
				"%s differs from the file that %s was started with: the server already has %s items", s.in.Name, s.id, term.Number(s.skip))
		}
		body := bytes.NewReader(s.part.Bytes())
		a, err := s.Append(ctx, s.id, "application/x-ndjson", body, fmt.Sprintf("submit-%d", first))
		if err != nil {
			return err
		}
		if took := a.Accepted + a.Duplicates; took != s.held {
			return command.Other(fmt.Errorf("the server took %d of %d rows", took, s.held), "")
		}
	}
	s.part.Reset()
	s.held = 0
	return nil
}

// show draws how far it is.
func (s *sender) show() {
	every := watch.DrawEvery
	if !s.screen.Live() {
		every = watch.PlainEvery
	}
	if time.Since(s.shown) < every {
		return
	}
	s.shown = time.Now()
	line := s.in.Reading() + fmt.Sprintf(" · sent %s", term.Number(s.sent))
	if s.screen.Live() {
		s.screen.Draw([]string{line})
		return
	}
	s.screen.Print(line)
}
