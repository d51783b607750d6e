package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func progressEvent(id int, state api.State, done int) string {
	return fmt.Sprintf("id: %d\nevent: progress\ndata: {\"state\":%q,\"counts\":{\"total\":9,\"done\":%d}}\n\n", id, state, done)
}

// stream answers with events, and then what end says.
func stream(text string, end error) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := says(200, "text/event-stream; charset=utf-8", "")(r)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), broken{end, r}))
		return resp, err
	}
}

// broken ends a body with an error; without one it hangs until the request is given up.
type broken struct {
	err error
	r   *http.Request
}

func (b broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	<-b.r.Context().Done()
	return 0, b.r.Context().Err()
}

func watched(t *testing.T, c *client.Client) (seen []string, err error) {
	t.Helper()
	for p, e := range c.Watch(t.Context(), "ba_1") {
		if e != nil {
			return seen, e
		}
		seen = append(seen, fmt.Sprintf("%s %d", p.State, p.Counts.Done))
	}
	return seen, nil
}

func TestWatchGoesOnWhereItWas(t *testing.T) {
	type answer = func(*http.Request) (*http.Response, error)
	const ping = "event: ping\ndata: {}\n\n"
	reset := errors.New("connection reset by peer")
	first, last := ping+progressEvent(1, api.Running, 3), ping+progressEvent(7, api.Completed, 9)
	want := []string{"running 3", "completed 9"}
	isOver := "event: state\ndata: {\"state\":\"completed\"}\n\n"
	counts := says(200, "application/json", `{"state":"completed","counts":{"done":9}}`)
	for _, tt := range []struct {
		name    string
		answers []answer
		want    []string
		last    []string // Last-Event-ID of each request
	}{
		{"in one go", []answer{stream(first+last, io.EOF)}, want, []string{""}},
		{"over a cut", []answer{stream(first, reset), stream(last, io.EOF)}, want, []string{"", "1"}},
		{"over an event that was cut off", []answer{stream(first+"id: 9\nevent: progress\ndata: {\"st", reset), stream(last, io.EOF)}, want, []string{"", "1"}},
		{"over an end that is none", []answer{stream(first, io.EOF), stream(last, io.EOF)}, want, []string{"", "1"}},
		{"over a restart", []answer{stream(first, reset), cut, cut, refuses(503, "draining"), stream(last, io.EOF)}, want, []string{"", "1", "1", "1", "1"}},
		{"over silence", []answer{stream(first, nil), stream(last, io.EOF)}, want, []string{"", "1"}},
		{"with a change of state alone", []answer{stream(first+"event: state\ndata: {\"state\":\"paused\"}\n\n"+last, io.EOF)}, []string{"running 3", "paused 3", "completed 9"}, []string{""}},
		{"with the end's counts, whichever event comes first", []answer{stream(first+isOver+last, io.EOF)}, want, []string{""}},
		{"with the end's counts, even if they have to be asked for", []answer{stream(first+isOver, io.EOF), counts}, want, []string{"", ""}},
		{"with the end's counts, cut off right before them", []answer{stream(first+isOver, reset), counts}, want, []string{"", ""}},
		{"with the end's counts, where silence follows the state", []answer{stream(first+isOver, nil), counts}, want, []string{"", ""}},
		{"with the end's counts, asked for until they are there", []answer{stream(first+isOver, reset), refuses(404, "not_found"), stream(last, io.EOF)}, want, []string{"", "", "1"}},
		{
			"past a cancel, which is not the end",
			[]answer{stream(first+"event: state\ndata: {\"state\":\"cancelling\"}\n\n"+progressEvent(5, api.Cancelling, 4), io.EOF), stream(progressEvent(7, api.Cancelled, 5), io.EOF)},
			[]string{"running 3", "cancelling 3", "cancelling 4", "cancelled 5"},
			[]string{"", "5"},
		},
		{"past events that it does not know", []answer{stream(first+"event: new\ndata: {}\n\n: remark\n\n"+last, io.EOF)}, want, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ids []string
				w := &world{}
				for _, a := range tt.answers {
					w.answers = append(w.answers, func(r *http.Request) (*http.Response, error) {
						ids = append(ids, r.Header.Get("Last-Event-ID"))
						return a(r)
					})
				}
				got, err := watched(t, newClient(t, w))
				if err != nil || !slices.Equal(got, tt.want) || !slices.Equal(ids, tt.last) {
					t.Errorf("saw %q, %v with ids %q; want %q with %q", got, err, ids, tt.want, tt.last)
				}
			})
		})
	}
}

func TestWatchGivesUp(t *testing.T) {
	type answer = func(*http.Request) (*http.Response, error)
	for _, tt := range []struct {
		name    string
		answers []answer
		refused string
		within  time.Duration
	}{
		{"at once what there is not", []answer{refuses(404, "not_found")}, "not_found", 0},
		{"soon on a server that never answered", []answer{cut}, "", 5 * time.Second},
		{"late on one that did", []answer{stream(progressEvent(1, api.Running, 1), io.EOF), cut}, "", 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := watched(t, newClient(t, &world{answers: tt.answers}))
				_, away := errors.AsType[*client.UnreachableError](err)
				if err == nil || away != (tt.refused == "") || tt.refused != "" && !client.IsCode(err, tt.refused) || time.Since(began) > tt.within {
					t.Errorf("ended after %v with %v", time.Since(began), err)
				}
			})
		})
	}
}

func TestWatchAsksWhereStreamsDoNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := &world{answers: []func(*http.Request) (*http.Response, error){func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/events") {
				return says(200, "text/html", "<html>a proxy")(r)
			}
			asked++
			state := api.Running
			if asked == 3 {
				state = api.Completed
			}
			return says(200, "application/json", fmt.Sprintf(`{"state":%q,"counts":{"done":%d}}`, state, asked))(r)
		}}}
		got, err := watched(t, newClient(t, w))
		if want := []string{"running 1", "running 2", "completed 3"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("saw %q, %v; want %q", got, err, want)
		}
	})
}
