package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// unsealed seals nothing.
type unsealed struct{}

func (unsealed) Seal(_ string, plain []byte) (string, error) { return string(plain), nil }
func (unsealed) Open(_, sealed string) ([]byte, error)       { return []byte(sealed), nil }

func TestATicketExpires(t *testing.T) {
	s := &Server{opts: Options{Sealer: unsealed{}}}
	for _, tt := range []struct {
		name string
		left time.Duration
		code string
		auth string
	}{
		{"valid", time.Minute, "", "Bearer wk_1"},
		{"expired", -time.Second, "bad_ticket", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const path = bulkPath + "/ba_1/events"
			raw, err := json.Marshal(ticket{Key: "wk_1", Path: path, Until: time.Now().Add(tt.left)})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"?ticket="+url.QueryEscape(string(raw)), nil)
			code := ""
			if p := s.redeem(r); p != nil {
				code = p.Code
			}
			if got := r.Header.Get("Authorization"); code != tt.code || got != tt.auth {
				t.Errorf("code %q and header %q, want %q and %q", code, got, tt.code, tt.auth)
			}
		})
	}
}
