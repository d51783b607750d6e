package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/store/pebblestore"
)

func TestTheDoctorLooksIntoTheStore(t *testing.T) {
	c := settingsOf(t, nil)
	dir := filepath.Join(c.Data, "store")
	s, err := pebblestore.Open(dir, pebblestore.Options{MinFree: -1, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if f := embeddedCheck(t.Context(), c); f.Level != fine {
		t.Errorf("a whole store is %+v", f)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log in %s: %v", dir, err)
	}
	for _, l := range logs {
		err = errors.Join(err, os.Remove(l))
	}
	if err != nil {
		t.Fatal(err)
	}
	if f := embeddedCheck(t.Context(), c); f.Level != fail || !strings.Contains(f.Fix, "backup") {
		t.Errorf("a store without its log is %+v", f)
	}
}

func TestTheDoctorLooksAtTheDiskAsTheStoreDoes(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		free, total uint64
		want        level
	}{
		{100 * gib, 500 * gib, fine},
		{3 * gib, 500 * gib, fine},
		{gib * 3 / 2, 500 * gib, warn},
		{gib / 2, 500 * gib, fail},
		{gib / 2, 4 * gib, fine},
		{gib / 3, 4 * gib, warn},
		{gib / 8, 4 * gib, fail},
	} {
		if f := spaceCheck(tt.free, tt.total); f.Level != tt.want {
			t.Errorf("%d of %d bytes free is %+v, want %s", tt.free, tt.total, f, tt.want)
		}
	}
}

func TestTheDoctorReadsCertificates(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	newPair(t, files, "weir.example")
	if f := certificateCheck(&config.Server{TLS: files}); f.Level != warn || !strings.Contains(f.What, "it ends on ") {
		t.Errorf("a certificate for an hour is %+v", f)
	}
	files.Key = files.Cert
	if f := certificateCheck(&config.Server{TLS: files}); f.Level != fail {
		t.Errorf("a certificate without its key is %+v", f)
	}
}

func TestOneFailureFailsTheMachine(t *testing.T) {
	if got := worst([]finding{{Level: fine}, {Level: warn}}); got != exitOK {
		t.Errorf("a warning exits with %d", got)
	}
	if got := worst([]finding{{Level: fail}, {Level: fine}}); got != exitOther {
		t.Errorf("a failure exits with %d", got)
	}
}
