package server

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestAZstdBodyWithALargeWindowIsNotCalledDamaged(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(2*zstdWindow), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := z.Write([]byte("{}\n"))
		if err = errors.Join(err, z.Flush()); err != nil { // so that the size is not known at the beginning
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	plain, err := unpack(httptest.NewRequestWithContext(t.Context(), "POST", "/", &b), 1<<20)
	if err == nil {
		_, err = io.ReadAll(plain)
	}
	var p *problem
	if !errors.As(err, &p) || p.Code != "window_too_large" {
		t.Errorf("problem = %v, want window_too_large", err)
	}
}
