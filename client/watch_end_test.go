package client_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// lossy is a client of the same server, behind a proxy that loses the last progress of every stream.
func lossy(t *testing.T, c *client.Client) (_ *client.Client, lost func() int) {
	t.Helper()
	at, err := url.Parse(c.Server())
	if err != nil {
		t.Fatal(err)
	}
	dropped := make(chan struct{}, 10)
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(at) },
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/events") {
				r.Body = withoutEnd(r.Body, dropped)
			}
			return nil
		},
	}
	web := httptest.NewServer(proxy)
	other, err := client.New(client.Options{Server: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close(); web.Close() })
	return other, func() int { return len(dropped) }
}

// withoutEnd passes events on, but for the progress of an end.
func withoutEnd(from io.ReadCloser, dropped chan<- struct{}) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		defer from.Close()
		event := ""
		for lines := bufio.NewScanner(from); lines.Scan(); {
			event += lines.Text() + "\n"
			if lines.Text() != "" {
				continue
			}
			if strings.Contains(event, "event: progress") && (strings.Contains(event, `"state":"completed"`) || strings.Contains(event, `"state":"cancelled"`)) {
				dropped <- struct{}{}
				event = ""
			}
			if _, err := io.WriteString(w, event); err != nil {
				return // nobody reads any more
			}
			event = ""
		}
		_ = w.Close() // it never fails
	}()
	return r
}

func TestWatchEndsWithTheFinalCountsThoughTheyWereLost(t *testing.T) {
	direct := real(t)
	c, lost := lossy(t, direct)
	for _, tt := range []struct {
		name string
		end  func(id string) error
		want api.Progress
	}{
		{"started", func(id string) error { _, err := direct.Start(t.Context(), id, api.Start{}); return err }, api.Progress{State: api.Completed, Counts: api.Counts{Total: 3, Done: 3}}},
		{"cancelled", func(id string) error { _, err := direct.Cancel(t.Context(), id, ""); return err }, api.Progress{State: api.Cancelled, Counts: api.Counts{Total: 3, Cancelled: 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := lost()
			b, err := direct.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}, {ID: "c"}}})
			if err != nil {
				t.Fatal(err)
			}
			var last api.Progress
			for p, err := range c.Watch(t.Context(), b.ID) {
				if err != nil {
					t.Fatal(err)
				}
				if last.State == "" {
					if err := tt.end(b.ID); err != nil {
						t.Fatal(err)
					}
				}
				last = p
			}
			if last.State != tt.want.State || last.Counts != tt.want.Counts || lost() == before {
				t.Errorf("the last it told is %s with %+v, and %d events were lost; want %s with %+v", last.State, last.Counts, lost()-before, tt.want.State, tt.want.Counts)
			}
		})
	}
}

func TestAChangeByWhatIsThereOverwritesNothing(t *testing.T) {
	c, ctx := real(t), t.Context()
	b, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}, Items: []api.Item{{ID: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	after, err := c.ChangeBy(ctx, b.ID, func(now *api.BulkAction) (api.Change, error) {
		if asked++; asked == 1 { // somebody else is faster
			five := 5
			if _, err := c.Change(ctx, b.ID, api.Change{Priority: &five}); err != nil {
				return api.Change{}, err
			}
		}
		more := now.Priority + 1
		return api.Change{Priority: &more}, nil
	})
	if err != nil || asked != 2 || after.Priority != 6 {
		t.Errorf("ChangeBy = priority %d, %v after asking %d times; want 6 after 2", after.Priority, err, asked)
	}
}
