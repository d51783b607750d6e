package operate

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
)

// runPartitions runs weir partitions set against a server that has eight, and returns what it changed and printed.
func runPartitions(t *testing.T, args ...string) (puts []string, out string, err error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := api.PartitioningStatus{Partitioning: api.Partitioning{Partitions: 8}, Kept: 8}
		if r.Method == http.MethodPut {
			_ = json.NewDecoder(r.Body).Decode(&p)
			p.Kept = max(p.Partitions, 8)
			puts = append(puts, r.URL.RequestURI())
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p)
	}))
	t.Cleanup(srv.Close)
	subs := partitionsCommand().Subs
	c := subs[slices.IndexFunc(subs, func(c command.Command) bool { return strings.HasPrefix(c.Use, "set") })]
	fs := pflag.NewFlagSet("set", pflag.ContinueOnError)
	run := c.Bind(fs)
	if err := fs.Parse(append([]string{"--server", srv.URL}, args...)); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	env := &command.Env{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}
	env.Fill()
	err = run(t.Context(), env, fs.Args())
	return puts, stdout.String() + stderr.String(), err
}

func TestTheNumberOfPartitionsIsSet(t *testing.T) {
	for _, tt := range []struct {
		args []string
		puts []string
		says string
	}{
		{[]string{"64"}, []string{"/v1/partitioning"}, "64"},
		{[]string{"64", "--dry-run"}, []string{"/v1/partitioning?dry_run=true"}, "64"},
		{[]string{"5"}, []string{"/v1/partitioning"}, "new work no longer goes to the last 3 partitions"},
	} {
		puts, out, err := runPartitions(t, tt.args...)
		if err != nil || !slices.Equal(puts, tt.puts) || !strings.Contains(out, tt.says) {
			t.Errorf("set %v: requests %v, %v, printed %q; want %v and %q", tt.args, puts, err, out, tt.puts, tt.says)
		}
	}
	for _, bad := range []string{"0", "many", "-3"} {
		if puts, _, err := runPartitions(t, "--", bad); err == nil || len(puts) > 0 {
			t.Errorf("set %s: %v, requests %v, want an error and none", bad, err, puts)
		}
	}
}
