package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// draftAppends is in how many appends the items of a draft come.
const draftAppends = 10

// appends is a million items in ten appends to a draft, which is sealed then.
func appends(b *bench) {
	what := "1,000,000 items appended to a draft ten times: "
	b.told(b.repeat, "draft", params{Items: million},
		claim{key: "seal_ms", what: what + "the seal", unit: "ms"},
		claim{key: "seal_cpu_ms", what: what + "CPU time of the seal", unit: "ms"},
		claim{key: "seal_mib", what: what + "bytes written by the seal", unit: "MiB"},
		claim{key: "append_ms", what: what + "the appends", unit: "ms"},
		claim{key: "append_mib", what: what + "bytes written by the appends", unit: "MiB"})
}

// measureDraft appends and seals. Client and server are one process, and the client does nothing during the seal.
func measureDraft(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1")
	var bodies [draftAppends]bytes.Buffer
	for i, each := 0, p.Items/draftAppends; i < draftAppends; i++ {
		for no := i * each; no < (i+1)*each; no++ {
			fmt.Fprintf(&bodies[i], `{"id":"user-%d","data":%s}`+"\n", no, appendReward(nil, no))
		}
	}
	var b api.BulkAction
	ask(ctx, http.MethodPost, r.url+"/v1/bulk-actions", "application/json",
		strings.NewReader(`{"steps":[{"action":"first"},{"action":"second"}]}`), &b)
	at := used()
	for i := range bodies {
		ask(ctx, http.MethodPost, r.url+b.Links.Items, "application/x-ndjson", &bodies[i], nil)
	}
	appended := used()
	ask(ctx, http.MethodPost, r.url+b.Links.Self+"/seal", "application/json", strings.NewReader(`{}`), &b)
	sealed := used()
	if b.Counts.Total != int64(p.Items) {
		must(fmt.Errorf("%d items were sealed, want %d", b.Counts.Total, p.Items))
	}
	must(r.stop())
	return figures{
		"append_ms": ms(appended.at.Sub(at.at)), "append_mib": float64(appended.written-at.written) / (1 << 20),
		"seal_ms": ms(sealed.at.Sub(appended.at)), "seal_mib": float64(sealed.written-appended.written) / (1 << 20),
		"seal_cpu_ms": ms(sealed.cpu - appended.cpu),
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// usage is what this process has used so far.
type usage struct {
	at      time.Time
	cpu     time.Duration // 0 where the system does not tell
	written int64         // bytes, to files and sockets; 0 where the system does not tell
}

func used() usage {
	out := usage{at: time.Now()}
	if raw, err := os.ReadFile("/proc/self/io"); err == nil {
		_, after, _ := strings.Cut(string(raw), "wchar: ")
		_, _ = fmt.Sscan(after, &out.written)
	}
	if raw, err := os.ReadFile("/proc/self/stat"); err == nil {
		_, after, _ := strings.Cut(string(raw), ") ")
		if f := strings.Fields(after); len(f) > 12 {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			out.cpu = time.Duration(user+system) * tick
		}
	}
	return out
}

// tick is the unit in which the system tells CPU time.
const tick = 10 * time.Millisecond
