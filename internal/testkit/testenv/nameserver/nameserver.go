// Package nameserver answers address queries, for tests of code that resolves names. Nothing
// leaves the process: a resolver talks to it over a pipe.
package nameserver

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Server answers the n-th question, from 0, for an address with the addresses that Answer returns.
type Server struct {
	Answer func(n int) [][4]byte

	mu    sync.Mutex
	asked int
}

// Always returns a server that answers every name with the same addresses.
func Always(addresses ...[4]byte) *Server {
	return &Server{Answer: func(int) [][4]byte { return addresses }}
}

// Asked returns the number of answered queries.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Resolver returns a resolver that asks the server, until the test ends.
func (s *Server) Resolver(t testing.TB) *net.Resolver {
	t.Helper()
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		serving.Go(func() {
			defer theirs.Close()
			for s.serve(theirs) == nil {
			}
		})
		return ours, nil
	}}
}

// serve answers one question, framed as over TCP.
func (s *Server) serve(conn net.Conn) error {
	var size uint16
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return err
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(conn, raw); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		return err
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = s.answers(q.Name)
	}
	out, err := m.AppendPack([]byte{0, 0})
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = conn.Write(out)
	return err
}

func (s *Server) answers(name dnsmessage.Name) (all []dnsmessage.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.Answer(s.asked) {
		all = append(all, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: a},
		})
	}
	s.asked++
	return all
}
