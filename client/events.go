package client

import (
	"bufio"
	"io"
	"iter"
	"strings"
)

// event is one server-sent event.
type event struct{ id, kind, data string }

// maxEvent is the longest line of an event.
const maxEvent = 4 << 20

// events reads server-sent events until the stream ends. An event that is not
// ended by an empty line was cut off, and is left out.
func events(r io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		e, data := event{}, []string(nil)
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				e.data = strings.Join(data, "\n")
				if data != nil && !yield(e, nil) {
					return
				}
				e, data = event{}, nil
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				data = append(data, value)
			}
		}
		if err := lines.Err(); err != nil {
			yield(event{}, err)
		}
	}
}
