package execute

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func benchTask() *weir.Task {
	t := newTask(100)
	for i := range t.Items {
		t.Items[i].Data = fmt.Appendf(nil, `{"user_id":"u%07d","amount":25,"country":"DE","note":"%s"}`, i, strings.Repeat("x", 40))
	}
	return t
}

func perItem(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
}

func BenchmarkWriteRequest(b *testing.B) {
	task := benchTask()
	b.ReportAllocs()
	for b.Loop() {
		newRequest(context.Background(), task, nil)
	}
	perItem(b, 100)
}

func benchAnswer() string {
	results := make([]string, 100)
	for i := range results {
		results[i] = fmt.Sprintf(`{"id":"u%d","status":"done","output":{"reward_id":"r-%d"}}`, i+1, i)
	}
	return `{"results":[` + strings.Join(results, ",") + `]}`
}

func BenchmarkReadAnswer(b *testing.B) {
	task, body, c := benchTask(), []byte(benchAnswer()), &caller{}
	c.setDefaults()
	sent := make([]int32, 100)
	for i := range sent {
		sent[i] = int32(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		a, err := parse(body)
		if err == nil {
			err = c.apply(a, task, sent)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	perItem(b, 100)
}

func BenchmarkCallOverLoopback(b *testing.B) {
	answer := benchAnswer()
	r := serve(b, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(w, answer)
	}, func(s *weir.Step) { s.Endpoint.Secret = testSecret })
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		task := benchTask()
		for pb.Next() {
			clear(task.Outcomes)
			if err := r.call(context.Background(), task); err != nil {
				b.Error(err)
				return
			}
		}
	})
	perItem(b, 100)
}

func BenchmarkRun(b *testing.B) {
	task, h := newTask(1), func(context.Context, *weir.Task) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		Run(context.Background(), h, task, func(error) {})
	}
}
