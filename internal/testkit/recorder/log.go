package recorder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
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
	Planned  int64 // Unix nanoseconds, when the caller took the call up, by its own header; 0: it did not tell
	Sent     int64 // Unix nanoseconds, when it made the call, likewise
	Received int64 // Unix nanoseconds, when the call came in
	Answer   string
	Code     string
	Message  string
}

// columns of a line, separated by tabs.
const columns = 12

func (e *Entry) append(b []byte) []byte {
	b = strconv.AppendInt(b, int64(e.Life), 10)
	for _, s := range []string{e.Bulk, e.Step, e.Item, e.Key} {
		b = append(append(b, '\t'), s...)
	}
	b = strconv.AppendInt(append(b, '\t'), int64(e.Attempt), 10)
	for _, at := range []int64{e.Planned, e.Sent, e.Received} {
		b = strconv.AppendInt(append(b, '\t'), at, 10)
	}
	for _, s := range []string{e.Answer, e.Code, e.Message} {
		b = append(append(b, '\t'), s...)
	}
	return append(b, '\n')
}

func parseEntry(line string) (e Entry, err error) {
	f := strings.Split(line, "\t")
	if len(f) != columns {
		return e, fmt.Errorf("has %d columns, want %d", len(f), columns)
	}
	number := func(s string) int64 {
		n, bad := strconv.ParseInt(s, 10, 64)
		err = errors.Join(err, bad)
		return n
	}
	e = Entry{
		Life: int(number(f[0])), Bulk: f[1], Step: f[2], Item: f[3], Key: f[4],
		Attempt: int(number(f[5])), Planned: number(f[6]), Sent: number(f[7]), Received: number(f[8]),
		Answer: f[9], Code: f[10], Message: f[11],
	}
	return e, err
}

// Log is the file that a [Server] writes.
type Log struct {
	mu   sync.Mutex
	file *os.File
	line []byte // reused
}

// CreateLog makes the file.
func CreateLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the recorder: %w", err)
	}
	return &Log{file: f}, nil
}

// add hands the entries of one call to the operating system, in one piece.
func (l *Log) add(entries []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = l.line[:0]
	for i := range entries {
		l.line = entries[i].append(l.line)
	}
	_, err := l.file.Write(l.line)
	return err
}

// Close ends the file.
func (l *Log) Close() error { return l.file.Close() }

// ReadLog reads a file back. Entries stand in the order in which they were answered.
func ReadLog(r io.Reader) ([]Entry, error) {
	var all []Entry
	s := bufio.NewScanner(r)
	for s.Scan() {
		e, err := parseEntry(s.Text())
		if err != nil {
			return nil, fmt.Errorf("log line %d: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, s.Err()
}
