package archtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Dep is a module that we chose to depend on.
type Dep struct {
	Module string
	Why    string
	// In lists the packages whose code may import it. Tests may import every
	// module of the table; a module with no package here is for tests only.
	In []string
}

var (
	anywhere = []string{"client", "weirtest", "internal/...", "cmd/...", "examples/...", "store/..."}
	terminal = []string{"internal/cli/..."}
	trials   = []string{"store/storetest", "weirtest", "internal/lab/sim/...", "internal/lab/bench/...", "internal/testkit/..."}
)

// Deps lists the modules that go.mod may require directly. A program that embeds weir gets all
// of them in its module graph, so each must be justified.
var Deps = []Dep{
	{"code.dny.dev/ssrf", "addresses that no user may have us call", []string{"internal/edge/egress"}},
	{"github.com/HdrHistogram/hdrhistogram-go", "latency quantiles that merge",
		[]string{"internal/engine/...", "internal/core/partition", "report", "internal/core/coord", "internal/lab/bench/...",
			"internal/lab/sim/..."}},
	{"github.com/cockroachdb/errors", "oserror, which recognises Pebble's errors about files", []string{"store/pebblestore"}},
	{"github.com/cockroachdb/pebble/v2", "the embedded store",
		[]string{"store/pebblestore", "internal/lab/sim/...", "internal/lab/bench/..."}},
	{"github.com/danielgtaylor/huma/v2", "routes from typed functions, and the OpenAPI document from both",
		[]string{"internal/server"}},
	{"github.com/expr-lang/expr", "conditions, mappings and filters that users write", []string{"internal/edge/mapping"}},
	{"github.com/getkin/kin-openapi", "holds traffic against the OpenAPI document", nil},
	{"github.com/go-json-experiment/json", "items decoded without copying, until it is in the standard library",
		[]string{"internal/engine/...", "client", "internal/edge/execute", "internal/edge/source", "report",
			"internal/server", "internal/edge/feed", "internal/edge/mapping", "internal/service", "weirtest"}},
	{"github.com/goccy/go-yaml", "spec files and what people type into pages, with errors that name line and column",
		append([]string{"internal/dashboard"}, terminal...)},
	{"github.com/google/go-cmp", "differences in tests", trials},
	{"github.com/jackc/pgx/v5", "items from a Postgres query", []string{"internal/edge/feed", "internal/testkit/testenv"}},
	{"github.com/klauspost/compress", "zstd of blocks and inputs, fast gzip",
		[]string{"internal/core/block", "internal/engine/backup", "internal/edge/source", "report", "internal/server", "client"}},
	{"github.com/minio/minio-go/v7", "items from an object store, and backups in one", []string{"internal/edge/feed", "internal/cli/backup", "internal/testkit/testenv"}},
	{"github.com/netresearch/go-cron", "reads cron expressions", []string{"internal/service/schedule"}},
	{"github.com/oklog/ulid/v2", "ids that sort by time",
		[]string{"internal/engine/...", "client", "internal/core/coord", "internal/cli/...", "internal/service/...", "internal/server"}},
	{"github.com/prometheus/client_golang", "metrics",
		[]string{"engine", "server", "internal/engine/...", "store/...", "internal/core/coord", "internal/edge/execute",
			"internal/server", "internal/assembly", "internal/testkit/nodetest", "internal/cli/..."}},
	{"github.com/prometheus/client_model", "histograms that are kept by hand", []string{"internal/engine/..."}},
	{"github.com/redis/rueidis", "Redis and Valkey, pipelined without asking",
		[]string{"store/redisstore", "internal/testkit/testenv", "internal/lab/bench/..."}},
	{"github.com/rogpeppe/go-internal", "tests of the commands as text scripts", nil},
	{"github.com/rs/cors", "answers browsers that ask what scripts of other origins may do", []string{"internal/server"}},
	{"github.com/santhosh-tekuri/jsonschema/v6", "JSON schema of an action's items", []string{"internal/edge/mapping"}},
	{"github.com/spf13/cobra", "commands, help and shell completion", terminal},
	{"github.com/spf13/pflag", "cobra's flags", terminal},
	{"github.com/standard-webhooks/standard-webhooks/libraries", "signatures of batch requests and callbacks",
		[]string{"internal/edge/execute", "internal/cli/...", "examples/..."}},
	{"github.com/tus/tusd/v2", "the protocol of resumable uploads", []string{"internal/server", "internal/service/upload"}},
	{"github.com/twmb/franz-go", "items from and events to a Kafka topic",
		[]string{"internal/edge/feed", "internal/service/callback", "internal/service/registry", "internal/assembly"}},
	{"github.com/twmb/franz-go/pkg/kadm", "offsets of a topic", []string{"internal/edge/feed"}},
	{"github.com/twmb/franz-go/pkg/kfake", "stands in for Kafka", nil},
	{"github.com/zeebo/xxh3", "hash of keys: routing, duplicates, stable jitter",
		append([]string{"store/...", "internal/edge/feed", "internal/service/records"}, join(Core, middle)...)},
	{"go.opentelemetry.io/proto/slim/otlp", "reads what is sent to a collector of traces; without gRPC",
		[]string{"internal/testkit/otlptest"}},
	{"go.uber.org/goleak", "tests that no goroutine is left behind", trials},
	{"golang.org/x/exp", "the log of tusd", []string{"internal/server"}},
	{"golang.org/x/net", "names of hosts in other scripts; a name server for tests",
		[]string{"internal/edge/egress", "internal/testkit/testenv/nameserver"}},
	{"golang.org/x/sync", "errgroup", anywhere},
	{"golang.org/x/term", "is this a terminal, and how wide", terminal},
	{"golang.org/x/text", "encodings of input files, and languages of messages",
		[]string{"internal/edge/source", "internal/edge/mapping"}},
	{"golang.org/x/time", "rates of requests", []string{"internal/service/access"}},
	{"golang.org/x/tools", "loads and type-checks packages for the rules of archtest", []string{"internal/testkit/archtest"}},
	{"google.golang.org/protobuf", "the encoding of what is sent to a collector of traces, and of what a test reads there",
		[]string{"internal/edge/otlp", "internal/testkit/otlptest"}},
	{"pgregory.net/rapid", "property tests", trials},
}

// CheckDeps reports directly required modules that are not in deps, and unused entries of deps.
func CheckDeps(direct []string, deps []Dep) []Violation {
	var out []Violation
	for _, module := range direct {
		if !slices.ContainsFunc(deps, func(d Dep) bool { return d.Module == module }) {
			out = append(out, Violation{"go.mod", "requires " + module +
				", which is not in archtest.Deps: add it with its reason, or do without"})
		}
	}
	for _, d := range deps {
		if !slices.Contains(direct, d.Module) {
			out = append(out, Violation{"archtest.Deps", d.Module + " is not required by go.mod: remove its row"})
		}
	}
	return out
}

// CheckForeign reports imports from outside the module that are not of a module in deps, or not
// in a package that the module was chosen for.
func CheckForeign(t *Tree, deps []Dep) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, imp := range f.Imports() {
				if _, ours := inModule(t.Module, imp.Path); ours || isStdlib(imp.Path) {
					continue
				}
				i := slices.IndexFunc(deps, func(d Dep) bool {
					return imp.Path == d.Module || strings.HasPrefix(imp.Path, d.Module+"/")
				})
				switch {
				case i < 0:
					out = append(out, f.at(imp.Spec, "%s is of no module in archtest.Deps", imp.Path))
				case !f.Test && !coversAny(deps[i].In, p.Dir):
					out = append(out, f.at(imp.Spec, "%s is not for %s (see archtest.Deps)", imp.Path, p.Dir))
				}
			}
		}
	}
	return out
}

// readModule asks the go command for the module path and direct requirements of root's go.mod.
func readModule(root string) (module string, direct []string, err error) {
	raw, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	if err != nil {
		return "", nil, fmt.Errorf("go mod edit: %w", err)
	}
	var m struct {
		Module  struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", nil, fmt.Errorf("go mod edit: %w", err)
	}
	for _, r := range m.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	return m.Module.Path, direct, nil
}
