package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// hostile are texts that want to be more than a value: a second line, a second key, or orders to a terminal.
func hostile() []string {
	return []string{
		"a\nlevel=ERROR msg=forged", "a\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}", "\x1b[2J\x1b[31mforged\x1b[1A\r", "\x1b]0;forged\x07", "a\x00b",
		`","level":"ERROR","msg":"forged`, `x" msg=forged y="`, `\`, `\"`, "a\u0085msg=forged", "a\u009b31mforged", "a\u2028{\"msg\":\"forged\"}", "\u202edegrof", "\x7f\b\bforged",
		"not UTF-8 \xff\xfe\n", " = ", "", strings.Repeat("x", 1<<20) + "\nmsg=forged",
	}
}

// record is a line of a log, read back.
type record map[string]string

// records reads a log, and fails for everything in it that is not what a logger writes.
func records(t *testing.T, format, text string) (all []record) {
	t.Helper()
	if i := strings.IndexFunc(text, escapable); i >= 0 {
		t.Errorf("%s: the log has %q in it: ...%.80q", format, text[i:i+1], text[max(0, i-40):])
	}
	read := readText
	if format == "json" {
		read = readJSON
	}
	for line := range strings.Lines(text) {
		r, err := read(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Errorf("%s: %v in the line %.200q", format, err, line)
			continue
		}
		all = append(all, r)
	}
	return all
}

// readJSON reads an object whose keys are there once each.
func readJSON(line string) (record, error) {
	d, r := json.NewDecoder(strings.NewReader(line)), record{}
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, fmt.Errorf("begins with %v, %w", first, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if _, twice := r[name]; twice {
			return nil, fmt.Errorf("the key %q twice", name)
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		r[name] = fmt.Sprint(v)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one object")
	}
	return r, nil
}

// readText reads pairs of key and value, each quoted or without anything that would need it.
func readText(line string) (record, error) {
	r := record{}
	for line != "" {
		key, rest, found := strings.Cut(line, "=")
		if !found || key == "" || strings.ContainsAny(key, " \"") {
			return nil, fmt.Errorf("no key in %.40q", line)
		}
		if _, twice := r[key]; twice {
			return nil, fmt.Errorf("the key %q twice", key)
		}
		value, _, _ := strings.Cut(rest, " ")
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			value = quoted
		} else if strings.ContainsAny(value, "=\"") {
			return nil, fmt.Errorf("a value that is not quoted in %.40q", rest)
		}
		line = strings.TrimPrefix(rest[len(value):], " ")
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		r[key] = value
	}
	return r, nil
}

func TestNoValueMakesASecondLineOrKeyOfTheLog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			out := &shot{}
			log := newLog(&Env{Stderr: out}, settingsOf(t, map[string]string{"log.format": format}))
			for _, h := range hostile() {
				log.LogAttrs(t.Context(), slog.LevelInfo, "fixed", slog.String("id", h), slog.Any("error", errors.New(h)), slog.Any("panic", h), slog.Any("list", []string{h}))
				log.LogAttrs(t.Context(), slog.LevelWarn, h) //nolint:sloglint // as those that come by net/http
			}
			all := records(t, format, out.String())
			if len(all) != 2*len(hostile()) {
				t.Fatalf("%d lines, want %d", len(all), 2*len(hostile()))
			}
			for i, h := range hostile() {
				want := "error id level list msg panic time"
				if keys := slices.Sorted(maps.Keys(all[2*i])); strings.Join(keys, " ") != want || all[2*i]["msg"] != "fixed" {
					t.Errorf("keys of %.60q are %v with the message %q", h, keys, all[2*i]["msg"])
				}
				if keys := slices.Sorted(maps.Keys(all[2*i+1])); strings.Join(keys, " ") != "level msg time" {
					t.Errorf("keys of the message %.60q are %v", h, keys)
				}
				if got := all[2*i]["id"]; got != h && got != strings.ToValidUTF8(h, "\ufffd") && got != strings.ReplaceAll(strings.ReplaceAll(h, "\xff", "\ufffd"), "\xfe", "\ufffd") {
					t.Errorf("%.60q reads %.60q", h, got)
				}
			}
		})
	}
}

// TestAServersLogCannotBeForged has everything that comes from outside say hostile things.
func TestAServersLogCannotBeForged(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		no, _ := strconv.Atoi(r.URL.Query().Get("say"))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/segment" {
			_, _ = io.WriteString(w, hostile()[no]) // it is told what came of it
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": hostile()[no]})
	}))
	defer down.Close()
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			h := open(t, settingsOf(t, map[string]string{"log.format": format, "log.level": "debug", "egress.allow": "loopback", "limits.requests_per_second": "10000"}), nodeParts(false))
			h.provoke(t, h.address(t, format), down.URL)
			h.stop(t)
			text := h.log.String()
			logged := records(t, format, facts.ReplaceAllString(text, ""))
			told := 0
			for _, r := range logged {
				if r["msg"] == "forged" || r["level"] == "ERROR" || r["time"] == "" || r["msg"] == "" {
					t.Errorf("a line that nobody meant to write: %.300v", r)
				}
				if strings.Contains(fmt.Sprint(r), "forged") {
					told++
				}
			}
			if told == 0 {
				t.Errorf("nothing hostile was logged at all, so nothing is shown:\n%.3000s", text)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// facts are what a person is told when the server begins.
var facts = regexp.MustCompile(`(?m)^  (url|admin|data|durability|role|node) +\S.*\n`)

// address waits until the server says where it is.
func (h *house) address(t *testing.T, format string) string {
	t.Helper()
	if format == "text" {
		return h.url(t)
	}
	h.log.until(t, `"role":`)
	_, after, _ := strings.Cut(h.log.String(), `"url":"`)
	address, _, _ := strings.Cut(after, `"`)
	return address
}

// provoke sends what a tenant can send.
func (h *house) provoke(t *testing.T, url, down string) {
	t.Helper()
	send := func(method, path string, body any, header string) {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-Id", header)
		req.Header.Set("User-Agent", header)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	for i, text := range hostile() {
		header := "\u009b31m forged \u202e" // what HTTP lets through
		name := strings.ToValidUTF8(text[:min(len(text), 60)], "?")
		send("PUT", fmt.Sprintf("/v1/actions/say-%d", i), map[string]any{"url": fmt.Sprintf("%s/act?say=%d", down, i), "retry": map[string]any{"max_attempts": 1}}, header)
		for _, source := range []string{"segment", "away"} {
			send("POST", "/v1/bulk-actions", map[string]any{
				"tenant": "acme", "name": name, "labels": map[string]string{"country": name}, "steps": []any{map[string]string{"action": fmt.Sprintf("say-%d", i)}},
				"source": map[string]any{"segment": map[string]any{"url": fmt.Sprintf("%s/%s?say=%d", down, source, i)}}, "start": true,
			}, header)
		}
		send("POST", "/v1/bulk-actions", map[string]any{"tenant": name, "name": name, "steps": []any{map[string]string{"action": name}}}, header)
		send("GET", "/v1/bulk-actions/"+urlPath(name), nil, header)
	}
	h.log.until(t, "source cannot be read")
}

func urlPath(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

func TestNoNameGivesOrdersToTheTerminal(t *testing.T) {
	for _, h := range hostile() {
		h = h[:min(len(h), 60)]
		steps := []weir.Step{{Name: h, Resource: weir.Resource{Name: h, Rate: 1}}}
		now := weir.Progress{Counts: weir.Counts{Total: 2}, WaitingOn: []string{"rate"}, Steps: make([]weir.StepCounts, 1)}
		one, two := &track{label: h, steps: steps, now: now}, &track{label: h, steps: steps, now: now}
		two.now.WaitingOn = []string{h}
		for _, tracks := range [][]*track{{one}, {two}, {one, two}} {
			out := &shot{}
			env := &Env{Stderr: out, Terminal: &Terminal{Width: func() int { return 200 }}, NoColour: true}
			scr := newScreen(env)
			lines := panel(scr.paint, 200, tracks, time.Second, "keys")
			scr.draw(lines)
			scr.print("told " + h)
			(&failure{what: h, fix: h}).print(env)
			drawn := out.String()
			for _, own := range []string{"\x1b[?2026h", "\x1b[?2026l", "\x1b[K", "\x1b[J", "\r", fmt.Sprintf("\x1b[%dA", len(lines))} {
				drawn = strings.ReplaceAll(drawn, own, "")
			}
			if i := strings.IndexFunc(drawn, escapable); i >= 0 {
				t.Errorf("%q reaches the terminal: %q", h, drawn)
			}
			if n, want := strings.Count(drawn, "\n"), len(lines)+1+strings.Count("error: "+h+"\nfix: "+h+"\n", "\n"); h != "" && n != want {
				t.Errorf("%q: %d lines are shown, want %d:\n%q", h, n, want, drawn)
			}
		}
	}
}

func TestOurOwnColoursStay(t *testing.T) {
	p := paint(true)
	line := p.red("failed") + " of " + p.bold("12") + " 👨‍👩‍👧 naïve"
	if got := p.tame(line); got != line {
		t.Errorf("tame(%q) = %q", line, got)
	}
	if got := p.tame(p.red("a\x1b[8mb\x1b[2Kc")); got != p.red(`a\x1b[8mb\x1b[2Kc`) {
		t.Errorf("orders of others: %q", got)
	}
}
