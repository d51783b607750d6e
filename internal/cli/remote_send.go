package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weirhq/weir"
)

// A part is what is sent at once, accepted as a whole, and sent again after a cut.
const (
	partItems = 20_000
	partBytes = 8 << 20
)

// sender sends the items of an input in parts. The same input is cut into the
// same parts, so that one that was sent before is recognised by its key.
type sender struct {
	*link
	screen *screen
	in     *input
	id     string
	skip   int64 // rows that the server has, duplicates included
	sent   int64 // rows in parts so far, those that were skipped among them
	part   bytes.Buffer
	held   int64
	shown  time.Time
}

// all sends everything.
func (s *sender) all(ctx context.Context) error {
	defer s.screen.draw(nil)
	s.shown = time.Now()
	for it, err := range s.in.all(func() error { return nil }) {
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
		return badUsage("use the same file as before", "the server already has %s, and %s has only %s",
			plural(s.skip, "item", "items"), s.in.name, number(s.sent))
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
		if first < s.skip {
			return badUsage("use the same file and the same flags as before",
				"%s differs from the file that %s was started with: the server already has %s items", s.in.name, s.id, number(s.skip))
		}
		body := bytes.NewReader(s.part.Bytes())
		a, err := s.Append(ctx, s.id, "application/x-ndjson", body, fmt.Sprintf("submit-%d", first))
		if err != nil {
			return err
		}
		if took := a.Accepted + a.Duplicates; took != s.held {
			return other(fmt.Errorf("the server took %d of %d rows", took, s.held), "")
		}
	}
	s.part.Reset()
	s.held = 0
	return nil
}

// show draws how far it is.
func (s *sender) show() {
	every := drawEvery
	if !s.screen.live() {
		every = plainEvery
	}
	if time.Since(s.shown) < every {
		return
	}
	s.shown = time.Now()
	line := s.in.reading() + fmt.Sprintf(" · sent %s", number(s.sent))
	if s.screen.live() {
		s.screen.draw([]string{line})
		return
	}
	s.screen.print(line)
}

// readArgument is a text that may be in a file: @FILE, or - for stdin.
func (e *Env) readArgument(text string) ([]byte, error) {
	switch {
	case text == "-":
		return io.ReadAll(e.Stdin)
	case len(text) > 1 && text[0] == '@':
		raw, err := os.ReadFile(e.path(text[1:]))
		if err != nil {
			return nil, badUsage("check the spelling; the path is taken from the working directory", "%v", err)
		}
		return raw, nil
	}
	return []byte(text), nil
}
