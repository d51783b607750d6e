package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func picture(t *testing.T, input string) string {
	t.Helper()
	var b strings.Builder
	if err := draw(&b, input); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); err == io.EOF {
			return b.String()
		} else if err != nil {
			t.Fatalf("not well-formed: %v in\n%s", err, b.String())
		}
	}
}

func TestPictureHasTextColoursAndBars(t *testing.T) {
	got := picture(t, "a <b> & \x1b[31mred\x1b[0m\n\x1b[1;36m██\x1b[0;2m░\x1b[22m end")
	for _, want := range []string{
		"a &lt;b&gt; &amp; ", `fill="#ff7b72"`, ">red<",
		`width="16.8" height="13.0" fill="#39c5cf" opacity="1.00"`, `opacity="0.25"`, "> end<",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "█") || strings.Contains(got, "\x1b") {
		t.Error("bars are drawn as text, or escapes were left in")
	}
	if got != picture(t, "a <b> & \x1b[31mred\x1b[0m\n\x1b[1;36m██\x1b[0;2m░\x1b[22m end") {
		t.Error("the same screen makes two pictures")
	}
}

func TestScreensBecomeFrames(t *testing.T) {
	if got := picture(t, "one"); strings.Contains(got, "<style>") {
		t.Error("one screen moves")
	}
	got := picture(t, "one\fsecond\fthree")
	if n := strings.Count(got, `<g class="f"`); n != 3 {
		t.Errorf("%d frames, want 3", n)
	}
	if !strings.Contains(got, "#f2{visibility:visible}") {
		t.Error("without moving style sheets the last frame must be seen")
	}
}
