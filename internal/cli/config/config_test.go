package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileIsReadWhole(t *testing.T) {
	path := write(t, `
actions:
  award:
    url: https://example.com/award
    secret_file: award.secret
    header: {X-Team: growth}
    batch: 200
    timeout: 10s
    rate: 30/m
    concurrency: 8
    retries: 0
    resource: wallet
resources:
  wallet: {rate: 500/s, concurrency: 16}
`)
	f, err := LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := f.Actions["award"] // a copy, for its methods
	if a.SecretFile != filepath.Join(filepath.Dir(path), "award.secret") {
		t.Errorf("secret file = %q, want it beside the configuration", a.SecretFile)
	}
	if a.Batch != 200 || time.Duration(a.Timeout) != 10*time.Second || a.Rate != 0.5 || a.Concurrency != 8 || a.Header["X-Team"] != "growth" {
		t.Errorf("action = %+v", a)
	}
	if a.Retries.Attempts() != 1 {
		t.Errorf("attempts with retries: 0 = %d, want 1", a.Retries.Attempts())
	}
	if r := f.Resources["wallet"]; r.Rate != 500 || r.Concurrency != 16 {
		t.Errorf("resource = %+v", r)
	}
}

func TestMistakesAreNamedWithLineAndFix(t *testing.T) {
	const start = "actions:\n  a:\n    url: http://h/\n"
	for _, tt := range []struct{ name, content, want string }{
		{"a number without a unit", start + "    timeout: 5\n", ":4: timeout: 5 has no unit; write 5s"},
		{"a rate without a unit", start + "    rate: 500\n", ":4: rate: rate \"500\": missing unit; write 500/s or 500/m"},
		{"a rate per fortnight", start + "    rate: 5/fortnight\n", `:4: rate: rate "5/fortnight": unknown unit "fortnight"; write /s, /m or /h`},
		{"a span of ten days", start + "    timeout: 240h\n", ":4: timeout: 240h is not above 0s and at most 24h; write it as in 5s, 2m or 1h30m"},
		{"a negative span", start + "    timeout: -5s\n", ":4: timeout: -5s is not above 0s and at most 24h; write it as in 5s, 2m or 1h30m"},
		{"no span at all", start + "    timeout: soon\n", `:4: timeout: "soon" is not a duration; write it as in 5s, 2m or 1h30m`},
		{"a batch of none", start + "    batch: 0\n", ":4: batch: 0 is not a whole number between 1 and 1000"},
		{"a million retries", start + "    retries: 1000000\n", ":4: retries: 1000000 is not a whole number between 0 and 249"},
		{"a list for a value", start + "    batch: [1]\n", ":4: batch: is not a single value"},
		{"an unknown key", start + "    timeot: 5s\n", `:4: key "timeot" is not known; did you mean timeout?`},
		{"a key like no other", start + "    wxyzzyqqq: 5s\n", `:4: key "wxyzzyqqq" is not known; remove it`},
		{"a key twice", start + "    url: http://h/\n", `:4: duplicate key "url", first seen in line 3; remove one of them`},
		{"a tab", "actions:\n\ta:\n", ":2: is indented with a tab; YAML wants spaces"},
		{"an empty file", "", ": is empty; write its content, or do not name it"},
		{"an action without a url", "actions:\n  a:\n    batch: 5\n", ":2: actions.a: has no url"},
		{"an unknown resource", start + "    resource: r\n", `:4: actions.a.resource: unknown resource "r"`},
		{"a list of actions", "actions: [a]\n", ":1: actions: is a list where keys with values are expected"},
		{"a file that is one word", "hello\n", ":1: is a single value where keys with values are expected"},
		{"no value", start + "    timeout:\n", ":4: timeout: has no value; write one, or remove the key"},
		{"broken YAML", "actions: [a\n", ":1: "},
		{"two documents", "actions: {}\n---\nactions: {}\n", ":3: begins a second document; write one file for each"},
		{"merged keys", "actions:\n  a: &a {url: http://h/}\n  b:\n    <<: *a\n", ":4: keys are merged with <<; write them out"},
		{"an alias of nothing", "actions: *a\n", `:1: anchor "a" is not defined before this line`},
		{"a secret in a header", start + "    header: {Authorization: Bearer xyz}\n", ":4: Authorization is a secret and must not be in this file; put it into a file that only you can read, and name that under header_file: {Authorization: PATH}"},
		{"a secret", start + "    secret: whsec_x\n", ":4: secret is a secret and must not be in this file; put it into a file that only you can read, and name that with secret_file: PATH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := LoadFile(write(t, tt.content))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("err = %v, want an *Error", err)
			}
			if !strings.Contains(err.Error(), FileName+tt.want) {
				t.Errorf("err = %v, want %s%s", err, FileName, tt.want)
			}
		})
	}
}

func TestMissingFileSaysSo(t *testing.T) {
	_, err := LoadFile(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, os.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "cannot be read")) {
		t.Errorf("err = %v", err)
	}
}

func TestStopRules(t *testing.T) {
	for _, tt := range []struct {
		text string
		want weir.StopRule
		bad  bool
	}{
		{text: "5%", want: weir.StopRule{FailureRate: 0.05}},
		{text: "100", want: weir.StopRule{MaxFailures: 100}},
		{text: "0", want: weir.StopRule{MaxFailures: -1}},
		{text: "0%", bad: true},
		{text: "100%", bad: true},
		{text: "-1", bad: true},
		{text: "few", bad: true},
		{text: "NaN%", bad: true},
	} {
		var s Stop
		err := s.Set(tt.text)
		if (err != nil) != tt.bad || s.Rule != tt.want {
			t.Errorf("Set(%q) = %+v, %v; want %+v, bad %v", tt.text, s.Rule, err, tt.want, tt.bad)
		}
	}
}

func TestDeadlines(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m":                       now.Add(90 * time.Minute),
		"2030-01-31T18:00:00+01:00": time.Date(2030, 1, 31, 17, 0, 0, 0, time.UTC),
	} {
		var d Deadline
		if err := d.Set(text); err != nil || !d.From(now).Equal(want) {
			t.Errorf("%q = %v, %v; want %v", text, d.From(now), err, want)
		}
	}
	for text, want := range map[string]string{
		"5": "5 has no unit; write 5s", "-1h": "is not above 0s", "2030-01-31T18:00:00": "is not a time with a zone", "tomorrow": "is neither a duration nor a time; write it as in 2h",
	} {
		var d Deadline
		if err := d.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestValuesReadWhatTheyWrite(t *testing.T) {
	type value interface {
		Set(string) error
		String() string
		Type() string
	}
	for text, v := range map[string]value{
		"200": new(Batch), "8": new(Concurrency), "0": new(Retries), "1m30s": new(Duration), "48h0m0s": new(Span), "500/s": new(Rate),
		"keep-first": new(DuplicateRule), "skip": new(InvalidRule), "csv": new(ReportFormat), "low": new(Tier), "5%": new(Stop), "2h": new(Deadline),
		"127.0.0.1:80": new(Address), "worker": new(Role), "replicated": new(Durability), "json": new(LogFormat), "warn": new(LogLevel), "64MiB": new(Size), "1234B": new(Size), "30d": new(Age), "2.5": new(Weight), "0.25": new(Part),
	} {
		if err := v.Set(text); err != nil || v.String() != text || v.Type() == "" {
			t.Errorf("%T: Set(%q) = %v, then String() = %q", v, text, err, v.String())
		}
		if err := v.Set("\x00"); err == nil {
			t.Errorf("%T took rubbish", v)
		}
	}
}
