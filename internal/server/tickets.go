package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// ticketFor is how long a ticket opens streams. One that is open stays open.
const ticketFor = 5 * time.Minute

// ticketIn is the place to which tickets are sealed: what is sealed elsewhere does not open as one.
const ticketIn = "server/ticket"

// ticket is what a ticket holds: the right of an API key to one path, for some time.
type ticket struct {
	Key   string    `json:"key,omitempty"` // empty: a server without keys
	Path  string    `json:"path"`
	Until time.Time `json:"until"`
}

// Sealer encrypts what a client keeps. All nodes have to open what one of them sealed.
type Sealer interface {
	Seal(where string, plain []byte) (string, error)
	Open(where, sealed string) ([]byte, error)
}

func (s *Server) ticketRoutes() {
	add(s, ask(access.Read, "bulk_action.ticket", bulkPath+"/{id}/events-ticket", "watching", "Create a ticket for an EventSource").
		about("An EventSource of a browser cannot send a key. `url` has a ticket instead, which opens the stream of this bulk "+
			"action and nothing else, with the rights of the key, until `expires_at`. An open stream stays open; when an "+
			"EventSource is refused with 401 as it connects again, create another ticket.").where(s.keysInUse),
		ofBulk(s, s.makeTicket))
}

type ticketInput struct {
	BulkID
	key string // of the request; empty: the server has none
}

// Resolve implements huma.Resolver.
func (in *ticketInput) Resolve(c huma.Context) []error {
	in.key, _ = access.FromHeader(http.Header{"Authorization": {c.Header("Authorization")}}) // it has been checked
	return nil
}

func (s *Server) makeTicket(_ context.Context, in *ticketInput) (*body[api.EventTicket], error) {
	t := ticket{Key: in.key, Path: bulkPath + "/" + in.ID + "/events", Until: time.Now().Add(ticketFor).UTC().Truncate(time.Second)}
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	for {
		sealed, err := s.opts.Sealer.Seal(ticketIn, plain)
		if err != nil {
			return nil, err
		}
		u := &url.URL{Path: t.Path, RawQuery: url.Values{"ticket": {sealed}}.Encode()}
		if access.InURL(u) {
			continue // by chance it looks like a key, which no URL may have
		}
		return answer(api.EventTicket{URL: s.at(u.String()), ExpiresAt: t.Until}, nil)
	}
}

// redeem puts the key of a ticket where the key of a request is.
func (s *Server) redeem(r *http.Request) *problem {
	sealed := r.URL.Query().Get("ticket")
	if sealed == "" || r.Header.Get("Authorization") != "" || s.opts.Sealer == nil {
		return nil
	}
	var t ticket
	plain, err := s.opts.Sealer.Open(ticketIn, sealed)
	if err != nil || json.Unmarshal(plain, &t) != nil || t.Path != r.URL.Path {
		return newProblem("bad_ticket", "the ticket is not one of this server, or is for another bulk action", "create another one with POST …/events-ticket")
	}
	if !time.Now().Before(t.Until) {
		return newProblem("bad_ticket", "the ticket has expired at "+t.Until.Format(time.RFC3339), "create another one with POST …/events-ticket")
	}
	if t.Key != "" {
		r.Header.Set("Authorization", "Bearer "+t.Key)
	}
	return nil
}
