package serve

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

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

// record is a line of a log, read back.
type record map[string]string

// records reads a log, and fails for everything in it that is not what a logger writes.
func records(t *testing.T, format, text string) (all []record) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && term.Tame(string(r)) != string(r) }); i >= 0 {
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
			out := &clitest.Shot{}
			log := newLog(&command.Env{Stderr: out}, clitest.Settings(t, map[string]string{"log.format": format}))
			for _, h := range clitest.Hostile() {
				log.LogAttrs(t.Context(), slog.LevelInfo, "fixed", slog.String("id", h), slog.Any("error", errors.New(h)), slog.Any("panic", h), slog.Any("list", []string{h}))
				log.LogAttrs(t.Context(), slog.LevelWarn, h) //nolint:sloglint // as those that come by net/http
			}
			all := records(t, format, out.String())
			if len(all) != 2*len(clitest.Hostile()) {
				t.Fatalf("%d lines, want %d", len(all), 2*len(clitest.Hostile()))
			}
			for i, h := range clitest.Hostile() {
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
			_, _ = io.WriteString(w, clitest.Hostile()[no]) // it is told what came of it
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": clitest.Hostile()[no]})
	}))
	defer down.Close()
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			h := open(t, clitest.Settings(t, map[string]string{"log.format": format, "log.level": "debug", "egress.allow": "loopback", "limits.requests_per_second": "10000"}), nodeParts(false))
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
var facts = regexp.MustCompile(`(?m)^  (url|admin|pages|data|durability|role|node) +\S.*\n`)

// address waits until the server says where it is.
func (h *house) address(t *testing.T, format string) string {
	t.Helper()
	if format == "text" {
		return h.url(t)
	}
	h.log.Until(t, `"role":`)
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
	for i, text := range clitest.Hostile() {
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
	h.log.Until(t, "source cannot be read")
}

func urlPath(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
