package dashboard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/weirhq/weir/api"
)

const (
	// againEvery is how often a form that was sent twice asks for the answer to the first, and againFor for how long.
	againEvery = 200 * time.Millisecond
	againFor   = 10 * time.Second
)

// patient repeats a request while another try of the same request is under way, as when a person presses a button
// twice: the second form gets the answer to the first.
type patient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for end := time.Now().Add(againFor); ; {
		resp, err := p.next.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusConflict || r.Header.Get("Idempotency-Key") == "" || time.Now().After(end) {
			return resp, err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
		var said api.Problem
		if json.Unmarshal(raw, &said) != nil || said.Code != "in_progress" || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return resp, nil
		}
		select {
		case <-time.After(againEvery):
		case <-r.Context().Done():
			return resp, nil
		}
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = body
		}
	}
}
