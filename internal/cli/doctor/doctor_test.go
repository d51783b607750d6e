package doctor

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/pebblestore"
)

func TestTheDoctorLooksIntoTheStore(t *testing.T) {
	c := clitest.Settings(t, nil)
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
		if f := spaceCheck(tt.free, tt.total, 0); f.Level != tt.want {
			t.Errorf("%d of %d bytes free is %+v, want %s", tt.free, tt.total, f, tt.want)
		}
	}
	if f := spaceCheck(3*gib, 500*gib, 4*gib); f.Level != warn || !strings.Contains(f.Fix, "limits.min_free") {
		t.Errorf("less free than limits.min_free is %+v", f)
	}
}

func TestTheDoctorReadsCertificates(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	clitest.NewPair(t, files, "weir.example")
	if f := certificateCheck(&config.Server{TLS: files}); f.Level != warn || !strings.Contains(f.What, "expires on ") {
		t.Errorf("a certificate for an hour is %+v", f)
	}
	files.Key = files.Cert
	if f := certificateCheck(&config.Server{TLS: files}); f.Level != fail {
		t.Errorf("a certificate without its key is %+v", f)
	}
}

func TestOneFailureFailsTheMachine(t *testing.T) {
	if got := worst([]finding{{Level: fine}, {Level: warn}}); got != command.ExitOK {
		t.Errorf("a warning exits with %d", got)
	}
	if got := worst([]finding{{Level: fail}, {Level: fine}}); got != command.ExitOther {
		t.Errorf("a failure exits with %d", got)
	}
}

// Losses that the nodes have noted fail the doctor until they are accepted.
func TestTheDoctorTellsOfLosses(t *testing.T) {
	for _, tt := range []struct {
		name, losses string
		want         []level
		says         string
	}{
		{"none", `[]`, []level{fine}, "none is stopped"},
		{"stopped", `[{"partition":3,"have":3,"acked":9,"found":1}]`, []level{fail}, "partition 3 lost accepted work (commits 4 to 9)"},
		{"accepted", `[{"partition":3,"have":3,"acked":9,"found":1,"accepted":2}]`, []level{warn}, "accepted 1970"},
		{"restored", `[{"partition":3,"have":3,"acked":9,"found":1,"restored":2}]`, []level{fine}, "none is stopped"},
		{"both", `[{"partition":3,"have":3,"acked":9,"found":1,"accepted":2},{"partition":4,"have":0,"acked":9,"found":1}]`, []level{warn, fail}, "partition 4 lost accepted work (commits 1 to 9)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memstore.New(memstore.Options{})
			if got := fleetCheck(t.Context(), s); len(got) != 1 || got[0].Level != fine {
				t.Errorf("a new store is %+v", got)
			}
			if _, err := s.Swap(t.Context(), "map", nil, []byte(`{"format":4,"generation":1,"partitions":8,"most":8,"losses":`+tt.losses+`}`)); err != nil {
				t.Fatal(err)
			}
			var levels []level
			said := ""
			for _, f := range fleetCheck(t.Context(), s) {
				levels, said = append(levels, f.Level), said+f.What+"\n"
				if f.Level != fine && f.Fix == "" {
					t.Errorf("%+v does not say what to do", f)
				}
			}
			if !slices.Equal(levels, tt.want) || !strings.Contains(said, tt.says) {
				t.Errorf("levels %v, want %v; it says %q, want %q", levels, tt.want, said, tt.says)
			}
		})
	}
}

// A loss that is noted in Redis makes the command exit with 1.
func TestTheDoctorReadsLossesFromRedis(t *testing.T) {
	c := clitest.Settings(t, map[string]string{"redis": "redis://" + testenv.Redis(t).Addr})
	s, err := serve.OpenRedis(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := redisCheck(t.Context(), c); worst(got) != command.ExitOK {
		t.Errorf("a new Redis is %+v", got)
	}
	if _, err := s.Swap(t.Context(), "map", nil, []byte(`{"format":4,"generation":1,"partitions":8,"most":8,"losses":[{"partition":3,"have":3,"acked":9,"found":1}]}`)); err != nil {
		t.Fatal(err)
	}
	got := redisCheck(t.Context(), c)
	if last := got[len(got)-1]; worst(got) != command.ExitOther || last.Name != "partitions" || !strings.Contains(last.What, "it is stopped") || !strings.Contains(last.Fix, "--accept-loss") {
		t.Errorf("a Redis that lost work is %+v", got)
	}
}

// A store of another format is refused or migrated by a server. The doctor only tells which.
func TestTheDoctorComparesFormats(t *testing.T) {
	for _, tt := range []struct {
		format int
		level  level
		want   string
	}{{99, fail, "a newer one"}, {1, fail, "export"}, {3, warn, "migrates it"}, {own.StoredFormat, fine, ""}} {
		s := memstore.New(memstore.Options{})
		text := fmt.Sprintf(`{"format":%d,"generation":1,"partitions":8,"most":8}`, tt.format)
		if _, err := s.Swap(t.Context(), "map", nil, []byte(text)); err != nil {
			t.Fatal(err)
		}
		f := formatCheck(t.Context(), "store", s)
		if f.Level != tt.level || !strings.Contains(f.Fix, tt.want) || !strings.Contains(f.What, fmt.Sprintf("format %d", tt.format)) {
			t.Errorf("a store of format %d is %+v, want %s and %q", tt.format, f, tt.level, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
