package dashboard

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/edge/direct"
)

// TestASecondFormWaitsForTheFirst asks an API that works on the first of two same requests.
func TestASecondFormWaitsForTheFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		busyFor time.Duration
		code    string
		want    int
	}{
		"the first ends": {3 * time.Second, "in_progress", 201}, "the first does not end": {time.Hour, "in_progress", 409},
		"another conflict": {time.Hour, "wrong_state", 409},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if body, err := io.ReadAll(r.Body); err != nil || string(body) != "{}" || r.Header.Get("Idempotency-Key") != "form-x" {
						t.Errorf("it is asked with %q %v", body, errors.Join(err))
					}
					if time.Since(began) < tt.busyFor {
						w.WriteHeader(http.StatusConflict)
						_, _ = io.WriteString(w, `{"code":"`+tt.code+`"}`)
						return
					}
					w.WriteHeader(http.StatusCreated)
				})
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/keys", nil)
				r.Body = io.NopCloser(strings.NewReader("{}"))
				r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{}")), nil }
				r.Header.Set("Idempotency-Key", "form-x")
				resp, err := patient{direct.Transport{Handler: api}}.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != tt.want || time.Since(began) > againFor+time.Second {
					t.Errorf("status %d after %v, want %d", resp.StatusCode, time.Since(began), tt.want)
				}
			})
		})
	}
}
