package source

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packed is text as zstd data that needs a window.
func packed(t *testing.T, text string, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{text[:1], text[1:]} {
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil { // so that the size is not known at the beginning
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAZstdFileWithALargeWindowIsReadOrExplained(t *testing.T) {
	for _, tt := range []struct {
		window int
		code   string
	}{{64 << 20, ""}, {256 << 20, CodeWindow}} {
		rd, err := Open(bytes.NewReader(packed(t, "id,a\n1,2\n", tt.window)), "u.csv.zst", Options{})
		if err == nil {
			for _, bad := range rd.Items() {
				err = bad
			}
			_ = rd.Close() // only read from
		}
		var e *InputError
		switch {
		case tt.code == "" && err != nil:
			t.Errorf("a window of %d MiB is refused: %v", tt.window>>20, err)
		case tt.code != "" && (!errors.As(err, &e) || e.Code != tt.code || !strings.Contains(e.Fix, "--long")):
			t.Errorf("a window of %d MiB: %v, want %s", tt.window>>20, err, tt.code)
		}
	}
}
