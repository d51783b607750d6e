package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestStatusSaysWhatToDo(t *testing.T) {
	const redirect = "answered 302 Found to \"/login\"; redirects are not followed"
	for _, tt := range []struct {
		status   int
		body     string
		wantCode string
		want     string // in the error
	}{
		{204, "", CodeBadAnswer, "answered 204 No Content where JSON was expected"},
		{302, "", CodeBadAnswer, redirect},
		{304, "", CodeBadAnswer, "answered 304"},
		{401, "who?", "http_401", "answered 401 Unauthorized: who?; check the action's secret and headers"},
		{403, "", "http_403", "/award answered 403 Forbidden; check"},
		{404, "", "http_404", "check the action's URL"},
		{405, "", "http_405", "must take POST"},
		{408, "", CodeTimeout, "408 Request Timeout"},
		{410, "", "http_410", "gone for good"},
		{413, "", CodeTooLarge, "413"},
		{415, "", "http_415", "application/json"},
		{429, "slow\r\ndown", CodeRefused, `429 Too Many Requests: slow\r\ndown`},
		{500, "\x00boom", CodeServerError, `500 Internal Server Error: \x00boom`},
		{502, strings.Repeat("x", 10_000), CodeServerError, "502 Bad Gateway: xxx"},
		{503, "", CodeRefused, "503"},
		{599, "", CodeServerError, "599"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			task := newTask(2)
			err := run(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/login")
				say(tt.status, tt.body)(w, r)
			}, nil), task)
			if Code(err) != tt.wantCode || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("call = %v (%s), want %s with %q", err, Code(err), tt.wantCode, tt.want)
			}
			if len(err.Error()) > 700 {
				t.Errorf("error has %d bytes, want the body cut to 512", len(err.Error()))
			}
			var setup *EndpointError
			if errors.As(err, &setup) != strings.HasPrefix(tt.wantCode, "http_4") || setup != nil && !setup.Misconfigured {
				t.Errorf("error is %T %+v: misconfigured exactly for http_4..", err, err)
			}
			if got := kinds(task); got != "no_result no_result " {
				t.Errorf("outcomes = %s, want none", got)
			}
		})
	}
}

func TestOther4xxFailsTheItems(t *testing.T) {
	for _, status := range []int{400, 409, 418, 422, 451} {
		task := newTask(2)
		if err := run(t, serve(t, say(status, "amount < 0\x1b"), nil), task); err != nil {
			t.Fatalf("%d: call = %v, want nil", status, err)
		}
		for _, o := range task.Outcomes {
			if o.Kind != weir.OutcomeFailed || o.Code != "http_4xx" || !strings.HasSuffix(o.Message, `: amount < 0\x1b`) {
				t.Errorf("%d: outcome = %+v, want failed, http_4xx, with the excerpt", status, o)
			}
		}
	}
}

func TestOneItemThatIsTooLargeFails(t *testing.T) {
	task := newTask(1)
	if err := run(t, serve(t, say(413, ""), nil), task); err != nil || task.Outcomes[0].Code != "http_4xx" {
		t.Errorf("call = %v, outcome %+v; want nil and http_4xx: it cannot be halved", err, task.Outcomes[0])
	}
}

func TestRefusalCarriesWhenToComeBack(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "Sun, 01 Mar 2026 12:00:45 GMT")
		say(503, "")(w, r)
	}, nil)
	refused, ok := weir.AsRefused(run(t, r, newTask(1)))
	if !ok || refused.After != 45*time.Second {
		t.Errorf("refusal = %+v, want after 45s", refused)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var calls atomic.Int32
	r := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, nil)
	if err := run(t, r, newTask(1)); Code(err) != CodeBadAnswer || calls.Load() != 1 {
		t.Errorf("call = %v after %d requests, want bad_answer after 1", err, calls.Load())
	}
}

func TestSlowEndpointTimesOut(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Query().Has("started") {
			_, _ = w.Write([]byte(`{"results":[`))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
	for _, query := range []string{"", "?started"} {
		r := serve(t, stall, func(s *weir.Step) {
			s.Endpoint.URL += query
			s.Timeout = 30 * time.Millisecond
		})
		if err := run(t, r, newTask(1)); Code(err) != CodeTimeout || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("timeout of the step, query %q: call = %v, want timeout", query, err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(30*time.Millisecond, func() { cancel(context.DeadlineExceeded) })
		task := newTask(1)
		task.Deadline = time.Now().Add(time.Hour) // as with heartbeats: the engine ends the context itself
		if err := r.call(ctx, task); Code(err) != CodeTimeout {
			t.Errorf("ended with a cause, query %q: call = %v, want timeout", query, err)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := r.call(ctx, newTask(1)); Code(err) != CodeCancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("told to stop, query %q: call = %v, want cancelled", query, err)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	r := serve(t, nil, func(s *weir.Step) { s.Endpoint.URL = "http://" + l.Addr().String() + "/?token=s3cret" })
	if err := run(t, r, newTask(1)); Code(err) != CodeUnreachable || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("call = %v, want unreachable and no query", err)
	}
}

func TestConnectionClosedBeforeTheAnswer(t *testing.T) {
	r := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	if err := run(t, r, newTask(1)); Code(err) != CodeUnreachable {
		t.Errorf("call = %v, want unreachable", err)
	}
}

func TestHugeHeaderIsRefused(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Big", strings.Repeat("x", 100<<10))
		_, _ = w.Write([]byte(`{"default":"done"}`))
	}, nil)
	if err := run(t, r, newTask(1)); Code(err) != CodeUnreachable {
		t.Errorf("call = %v, want an error", err)
	}
}

// Buffers of answers are used again, and a body may be read on after its call
// was answered: no call may ever see another one's bytes.
func TestManyCallsAtOnceKeepTheirBytesApart(t *testing.T) {
	var mixed atomic.Int32
	r := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength > 200<<10 {
			say(503, "")(w, req) // answers before it has read
			return
		}
		var in struct {
			Task  string
			Items []struct{ ID, Data string }
		}
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
			mixed.Add(1)
		}
		results := make([]string, len(in.Items))
		for i, it := range in.Items {
			if !strings.HasPrefix(it.Data, in.Task) {
				mixed.Add(1)
			}
			results[i] = fmt.Sprintf(`{"id":%q,"status":"done","output":%q}`, it.ID, in.Task)
		}
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
	}, nil)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 25 {
				task := newTask(1 + (g+n)%7)
				task.ID = fmt.Sprintf("tsk_%d_%d", g, n)
				size := 10
				if n%5 == 4 {
					size = 300 << 10
				}
				for i := range task.Items {
					task.Items[i].Data = fmt.Appendf(nil, "%q", task.ID+strings.Repeat("x", size))
				}
				err := r.call(context.Background(), task)
				if size > 10 {
					continue // refused, or the connection closed under the rest of its body
				}
				for _, o := range task.Outcomes {
					if err != nil || string(o.Output) != fmt.Sprintf("%q", task.ID) {
						t.Errorf("%s: %v, output %s", task.ID, err, o.Output)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := mixed.Load(); n != 0 {
		t.Errorf("%d calls had bytes of another", n)
	}
}
