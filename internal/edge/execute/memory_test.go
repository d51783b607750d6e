package execute

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestAHostileAnswerTakesBoundedMemory(t *testing.T) {
	const most = 64 << 20 // of which the text is read into 8 to 24 MiB
	for _, tt := range []struct{ name, begin, part, end, code string }{
		{"empty results", `{"results":[`, `{},`, `{}]}`, CodeBadAnswer},
		{"unknown members", `{"results":[{"id":"u1","status":"done","output":{`, `"":{},`, `"a":0}}]}`, CodeBadAnswer},
		{"an output of nothing but brackets", `{"results":[{"id":"u1","status":"done","output":[`, `[],`, `0]}]}`, CodeBadAnswer},
		{"one long text", `{"default":"done","note":"`, `xxxxxxxx`, `"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.begin + strings.Repeat(tt.part, 7_500_000/len(tt.part)) + tt.end
			r := serve(t, say(200, body), nil)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := run(t, r, newTask(1))
			runtime.ReadMemStats(&after)
			if tt.code != Code(err) {
				t.Errorf("call = %v, want code %q", err, tt.code)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("an answer of 7.5 MB made the call allocate %d MiB", took>>20)
			}
		})
	}
}

func TestLargeAnswersWaitForEachOther(t *testing.T) {
	body := `{"default":"done","note":"` + strings.Repeat("x", smallAnswer) + `"}`
	text := &body
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { say(200, *text)(w, r) }))
	transport, memory := NewTransport(), NewMemory()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	call, err := HTTP(weir.Step{Name: "a", Timeout: 100 * time.Millisecond, Endpoint: &weir.Endpoint{URL: srv.URL}}, HTTPOptions{Transport: transport, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if !memory.large.TryAcquire(largeAnswers) {
		t.Fatal("no turn is free at the beginning")
	}
	if err := call(t.Context(), newTask(1)); Code(err) != CodeTimeout {
		t.Errorf("a large answer whose turn did not come ended with %v, want %s", err, CodeTimeout)
	}
	*text = `{"default":"done"}`
	if err := call(t.Context(), newTask(1)); err != nil {
		t.Errorf("a small answer had to wait: %v", err)
	}
	memory.large.Release(largeAnswers)
	*text = body
	if err := call(t.Context(), newTask(1)); err != nil {
		t.Errorf("a large answer was refused: %v", err)
	}
	if !memory.large.TryAcquire(largeAnswers) {
		t.Error("a turn was not given back")
	}
}
