package source

import (
	"bytes"
	"errors"
	"io"
)

// lines reads NDJSON: one object per line. Blank lines, CRLF and a missing last line feed are fine.
type lines struct {
	docs
	w    *buffer
	skip bool // the line before was too long to hold, and is not read to its end
}

func (l *lines) next(it *Item) error {
	if l.skip {
		l.skip = false
		if err := l.w.skipLine(); err != nil {
			return err
		}
	}
	for {
		line, n, err := l.w.nextLine(0)
		number := l.w.line
		if errors.Is(err, errTooLong) { // a caller that stops here need not wait for the end of the line
			l.skip = true
			return tooLarge(number, -1, l.opts.MaxItem)
		}
		if err != nil {
			return err
		}
		l.w.dropLine(n)
		doc := bytes.TrimLeft(line, " \t\r")
		col := len(line) - len(doc)
		if doc = bytes.TrimRight(doc, " \t\r"); len(doc) > 0 {
			return l.item(doc, number, col, it)
		}
	}
}

// elements reads JSON: the elements of one array, or objects that follow each other.
type elements struct {
	docs
	w     *buffer
	state place
	array bool
}

// place is the position of elements in the file.
type place int

const (
	atStart place = iota
	atFirst       // behind [
	between       // behind an element
	atEnd         // behind ]
)

func (e *elements) next(it *Item) error {
	if err := e.toElement(); err != nil {
		return err
	}
	line, col := e.w.line, e.w.col
	var s scanner
	for scanned := 0; ; {
		n, done := s.scan(e.w.unread()[scanned:])
		scanned += n
		if done && scanned == 0 {
			return e.broken("an object is expected here")
		}
		if done {
			doc := e.w.unread()[:scanned]
			e.w.drop(scanned)
			e.state = between
			return e.item(doc, line, col, it)
		}
		if e.w.more() {
			continue
		}
		if e.w.err == nil {
			return e.skip(&s, line)
		}
		return e.cut()
	}
}

// skip passes over an element that is too large to hold.
func (e *elements) skip(s *scanner, line int) error {
	for {
		e.w.drop(len(e.w.unread()))
		if !e.w.more() {
			return e.cut()
		}
		if n, done := s.scan(e.w.unread()); done {
			e.w.drop(n)
			e.state = between
			return tooLarge(line, -1, e.opts.MaxItem)
		}
	}
}

// toElement advances to the next element, or returns io.EOF behind the last.
func (e *elements) toElement() error {
	for {
		c, err := e.peek()
		switch {
		case err == io.EOF && (e.state == atStart || e.state == atEnd || e.state == between && !e.array):
			return io.EOF
		case err != nil:
			return e.cut()
		case e.state == atEnd:
			return e.broken("something follows after the array")
		case e.state == atStart && c == '[':
			e.array, e.state = true, atFirst
			e.w.drop(1)
		case e.array && c == ']':
			e.state = atEnd
			e.w.drop(1)
		case e.array && e.state == between:
			if c != ',' {
				return e.broken("a comma is expected between two elements")
			}
			e.w.drop(1)
			if c, err := e.peek(); err == nil && c == ']' {
				return e.broken("an element is missing after the comma")
			}
			e.state = atFirst
		default:
			return nil
		}
	}
}

// peek drops white space and returns the byte behind it.
func (e *elements) peek() (byte, error) {
	for {
		b := e.w.unread()
		if rest := bytes.TrimLeft(b, " \t\r\n"); len(rest) > 0 {
			e.w.drop(len(b) - len(rest))
			return rest[0], nil
		}
		e.w.drop(len(b))
		if !e.w.more() {
			return 0, e.w.err
		}
	}
}

func (e *elements) broken(problem string) error {
	found := shorten(e.w.unread()[:min(len(e.w.unread()), 20)])
	return &InputError{
		Line: e.w.line, Column: e.w.col + 1, Code: CodeBadJSON,
		Problem: problem + ", found " + found, Fix: "write the file as an array of JSON objects",
	}
}

// cut distinguishes a file that ends inside the array from one that cannot be read.
func (e *elements) cut() error {
	if e.w.err != io.EOF {
		return e.w.err
	}
	return &InputError{
		Line: e.w.line, Column: e.w.col + 1, Code: CodeBadJSON,
		Problem: "the JSON ends too early", Fix: "the file is not whole: copy it again",
	}
}
