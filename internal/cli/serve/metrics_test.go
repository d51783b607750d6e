package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/weirhq/weir/internal/cli/clitest"
)

func TestMetricsTellOfTheProcessAndItsBuild(t *testing.T) {
	h := open(t, clitest.Settings(t, nil), nodeParts(false))
	a, err := http.Get(h.url(t) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(a.Body)
	if a.Body.Close(); err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_start_time_seconds ", "\nweir_build_info{goversion=\"go1.", `revision="`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %q", want)
		}
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("form: %v, %v", problems, err)
	}
	h.stop(t)
	http.DefaultClient.CloseIdleConnections()
}
