package recorder

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"sync"
)

// Entry is one item of one call.
type Entry struct {
	Life     int // which start of the caller sent it, by its own header
	Bulk     string
	Step     string
	Item     string
	Key      string
	Attempt  int
	Planned  int64 // Unix nanoseconds, when the caller took the call up, by its own header; 0: unknown
	Sent     int64 // Unix nanoseconds, when the caller made the call, likewise
	Received int64 // Unix nanoseconds, when the call came in
	Answer   string
	Code     string
	Message  string
}

// Log is the file that a [Server] writes.
type Log struct {
	mu   sync.Mutex
	file *os.File
	out  *gob.Encoder // a value for each call: its entries
}

// CreateLog creates the file.
func CreateLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the recorder: %w", err)
	}
	return &Log{file: f, out: gob.NewEncoder(f)}, nil
}

// add hands the entries of one call to the operating system.
func (l *Log) add(entries []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Encode(entries)
}

// Close ends the file.
func (l *Log) Close() error { return l.file.Close() }

// ReadLog reads a file back. Entries are in the order in which they were answered.
func ReadLog(r io.Reader) ([]Entry, error) {
	var all []Entry
	for in := gob.NewDecoder(r); ; {
		var call []Entry
		switch err := in.Decode(&call); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("log of the recorder, after %d entries: %w", len(all), err)
		}
		all = append(all, call...)
	}
}
