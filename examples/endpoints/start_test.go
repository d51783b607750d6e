package endpoints

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// sample is an endpoint and how it is run.
type sample struct {
	language string
	command  []string
	forgets  bool // it keeps results in memory
	buffers  bool // its server reads a whole body, however slow or large, before the sample sees the call
}

var samples = []sample{
	{language: "python", command: []string{"python3", "python/endpoint.py"}},
	{language: "node", command: []string{"node", "node/endpoint.mjs"}},
	{language: "java", command: []string{"java", "java/Endpoint.java"}, forgets: true},
	{language: "php", command: []string{"php", "-S", "127.0.0.1:0", "php/endpoint.php"}, buffers: true},
}

// installed returns the samples whose interpreter is there. Python always is.
func installed(t *testing.T) []sample {
	t.Helper()
	var all []sample
	var names []string
	for _, s := range samples {
		if _, err := exec.LookPath(s.command[0]); err == nil || s.language == "python" {
			all, names = append(all, s), append(names, s.language)
		}
	}
	t.Logf("run: %q of %d languages", names, len(samples))
	return all
}

// endpoint is a running sample.
type endpoint struct {
	sample
	url    string // of its action
	signer *standardwebhooks.Webhook
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start runs a sample until the test ends or stop is called.
func start(t *testing.T, s sample, store string, env ...string) (e *endpoint, stop func()) {
	t.Helper()
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), "WEIR_SECRET="+secret, "PORT=0", "READ_SECONDS=1", "STORE="+filepath.Join(store, "done"), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, env...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close() // the program has its own
	said, read := make(chan string, 1), make(chan []string)
	go func() {
		var all []string
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if all = append(all, lines.Text()); address.MatchString(lines.Text()) && len(said) == 0 {
				said <- address.FindString(lines.Text())
			}
		}
		read <- all
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		_ = cmd.Wait() // it was killed
		if all := <-read; t.Failed() {
			t.Logf("%s wrote: %q", s.language, all[max(0, len(all)-40):])
		}
		_ = r.Close()
	}
	t.Cleanup(stop)
	select {
	case url := <-said:
		return &endpoint{s, url + "/award", signer}, stop
	case <-time.After(time.Minute): // java compiles it first
		t.Fatalf("%s did not start", s.language)
		return nil, nil
	}
}

// call is a request that the test sends.
type call struct {
	method, url string
	body        string
	edit        func(h http.Header) // changes the headers of a signed call
}

// send makes a call. A status of 0 says that the connection was closed without a response.
func (e *endpoint) send(t *testing.T, c call) (status int, h http.Header, body []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if c.url == "" {
		c.url = e.url
	}
	if c.method == "" {
		c.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.url, bytes.NewReader([]byte(c.body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = e.sign(t, time.Now(), c.body)
	if c.edit != nil {
		c.edit(req.Header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			t.Errorf("no response: %v", err)
		}
		return 0, nil, nil
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the response ends early: %v", err)
	}
	return resp.StatusCode, resp.Header, body
}

func (e *endpoint) sign(t *testing.T, at time.Time, body string) http.Header {
	t.Helper()
	signed, err := e.signer.Sign("tsk_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {"tsk_1"},
		"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {signed}}
}

// result is what an endpoint returns for an item.
type result struct {
	ID, Status, Code string
	RetryAfter       string `json:"retry_after"`
	Output           struct {
		Reward string `json:"reward_id"`
	}
}

// results makes a call and expects results for these ids, in this order.
func (e *endpoint) results(t *testing.T, body string, ids ...string) []result {
	t.Helper()
	status, _, raw := e.send(t, call{body: body})
	var got struct{ Results []result }
	if err := json.Unmarshal(raw, &got); status != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v: %.300s; want 200 with results", status, err, raw)
	}
	var have []string
	for _, r := range got.Results {
		have = append(have, r.ID)
	}
	if !slices.Equal(have, ids) {
		t.Fatalf("results for %.300q, want %.300q", have, ids)
	}
	return got.Results
}
