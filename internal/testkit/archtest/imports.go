package archtest

import (
	"path"
	"slices"
	"strings"
)

// Row says what one package, or all packages below a directory, may import of
// this module. It binds code, not tests: a test may bring any two packages together.
type Row struct {
	// Dir is the package's directory; "examples/..." means all below.
	Dir string
	// May lists the directories it may import, in the same notation.
	May []string
	// Documented lists directories that it may import if its package comment names them.
	Documented []string
	// StdlibOnly forbids every module outside the standard library.
	StdlibOnly bool
}

// Core is the pure core in the order of imports: each may use those after it.
var Core = []string{
	"internal/lab/forecast", "internal/core/partition", "internal/core/coord", "internal/lab/model",
	"internal/lab/virtual", "internal/core/capacity", "internal/core/sched", "internal/core/chain", "internal/core/limit",
	"internal/core/retry", "internal/core/scale", "internal/core/flow", "internal/core/block", "internal/core/heap",
	"internal/core/route", "internal/core/quota", "internal/core/filter", "internal/core/fault",
	"internal/edge/mapping", "internal/core/near", "internal/core/jsonsize", "internal/core/series",
	"internal/core/plain", "internal/core/trace",
}

// middle is the layer between the surfaces and the core, in the order of imports.
var middle = []string{
	"internal/engine", "internal/engine/scaling", "internal/engine/catalog", "internal/engine/limits",
	"internal/engine/retention", "internal/engine/backup", "internal/engine/migrate",
	"internal/engine/own", "internal/engine/readback", "internal/engine/ingest",
	"internal/engine/recall", "internal/engine/loss",
	"internal/engine/telemetry", "internal/engine/spans", "internal/engine/stored",
	"internal/edge/execute", "internal/edge/source", "report",
}

// Face is the library as users import it: thin, and for them alone.
var Face = []string{"engine", "operate", "server"}

// Backends implement the store contract. Only the programs at the edge choose one.
var Backends = []string{"store/memstore", "store/pebblestore", "store/redisstore"}

// base lists what all but the lowest packages may import.
var base = []string{".", "store"}

// Rows is the picture of the imports: from the surface down to the words, never back.
var Rows = slices.Concat([]Row{
	{Dir: ".", StdlibOnly: true},
	{Dir: "store", May: []string{"."}, StdlibOnly: true},
	{Dir: "store/storetest", May: base},
	// Backends that one process uses alone share what then is in its memory.
	{Dir: "store/internal/inprocess", May: join(base, []string{"internal/core/quota"})},
	{Dir: "store/memstore", May: join(base, []string{"store/internal/inprocess"})},
	{Dir: "store/pebblestore", May: join(base, []string{"store/internal/inprocess"})},
	{Dir: "store/redisstore", May: base},
	{Dir: "api", May: []string{"."}},
	{Dir: "client", May: []string{".", "api"}},
	{Dir: "internal/cli/config",
		May: join(base, middle, []string{"api", "internal/edge/egress", "internal/edge/mount", "internal/core/near",
			"internal/service/vault", "internal/service/vault/transit"})},
	// A server without the listening: it brings the parts together.
	{Dir: "internal/assembly", May: join(base, middle, Core, surface, []string{"api", "internal/dashboard", "internal/edge/mount"})},
	// The pages can do what any client can, and nothing else.
	{Dir: "internal/dashboard", May: []string{"api", "client", "internal/chart", "internal/dashboard/...", "internal/edge/direct"}},
	// Charts of pages and of documents.
	{Dir: "internal/chart", May: []string{"internal/dashboard/format"}, StdlibOnly: true},
	{Dir: "internal/dashboard/format", StdlibOnly: true},
	{Dir: "internal/edge/direct", StdlibOnly: true},
	{Dir: "internal/edge/mount", StdlibOnly: true},
	{Dir: "internal/testkit/alerttest", May: []string{"..."}},
	{Dir: "internal/testkit/formats", May: []string{"..."}},
	{Dir: "internal/testkit/formats/make", StdlibOnly: true},
	{Dir: "internal/testkit/nodetest", May: []string{"..."}},
	{Dir: "internal/testkit/serverkill", May: []string{"..."}},
	{Dir: "internal/testkit/badinput", StdlibOnly: true},
	// It checks what we send to collectors, and must not know how.
	{Dir: "internal/testkit/otlptest"},
	{Dir: "internal/testkit/docstest"},
	{Dir: "internal/testkit/storedtest"},
	{Dir: "cmd/weir", May: []string{"internal/cli"}},
	// The commands in a user's own binary.
	{Dir: "cli", May: []string{".", "internal/cli"}},
	// Users' tests want an engine with a store in it.
	// They call endpoints as the engine does: that is inside.
	{Dir: "weirtest", May: join(base, []string{"engine", "report", "store/memstore", "internal/edge/execute"})},
	// An example is what a user would write, so it sees what a user sees.
	{Dir: "examples/...", May: join(base, Backends, Face, []string{"report", "api", "client", "weirtest"})},
	{Dir: "engine", May: join(base, []string{"operate", "report", "internal/engine", "internal/engine/readback"})},
	{Dir: "operate", May: join(base, []string{"internal/engine"})},
	{Dir: "server", May: join(base, []string{"engine", "internal/assembly", "internal/engine", "internal/server",
		"internal/service/access", "internal/service/reseal", "internal/service/vault", "internal/edge/egress", "internal/edge/mount"})},
	// The simulation runs everything except the surfaces.
	{Dir: "internal/lab/sim/...",
		May: join(base, middle, Core, Backends, []string{"store/storetest", "internal/lab/planted", "internal/lab/sim/..."})},
	// A made-up downstream knows what a user knows.
	{Dir: "internal/cli/demo", May: []string{"."}},
	{Dir: "internal/cli/demo/usersgen", May: []string{"internal/cli/demo"}},
	{Dir: "internal/cli/ansisvg", StdlibOnly: true},
	// Texts and settings for tests of several commands.
	{Dir: "internal/cli/clitest", May: []string{"internal/cli/config"}},
	// Deliberate bugs: patches for a build of the simulation alone.
	{Dir: "internal/lab/planted/...", StdlibOnly: true, May: []string{"internal/lab/planted"}},
	// A downstream that is the judge of everything else must not know it.
	{Dir: "internal/testkit/recorder", StdlibOnly: true},
	{Dir: "internal/lab/bench/...", May: []string{"..."}},
	{Dir: "internal/testkit/testenv", May: base},
	{Dir: "internal/testkit/story", StdlibOnly: true},
	{Dir: "internal/testkit/testenv/faultproxy", StdlibOnly: true},
	{Dir: "internal/testkit/testenv/life", StdlibOnly: true},
	{Dir: "internal/testkit/testenv/nameserver"},
	// Whole nodes as processes, with faults: it brings everything together.
	{Dir: "internal/testkit/fleettest", May: []string{"..."}},
	// The core in virtual time, held against what was promised.
	{Dir: "internal/lab/experiment/...", May: join(base, Core, []string{"internal/lab/experiment/...", "store/memstore"})},
	// What was measured so, drawn for the documentation.
	{Dir: "internal/lab/plots", May: join(Core, []string{"internal/chart", "internal/lab/experiment"})},
	// Dashboards for another program: they know metrics by their names alone.
	{Dir: "internal/lab/grafana/...", StdlibOnly: true, May: []string{"internal/lab/grafana"}},
	{Dir: "internal/testkit/archtest"},
}, coreRows(), middleRows(), surfaceRows(), commandRows())

// commands lists the packages of the command line in the order of imports: each may use those after it. The root
// puts the commands together. Below them is what commands share: how bulk actions are shown, how they are described,
// the way to a server or to a node of this process, and, last, drawing, which knows nothing of weir.
var commands = []string{
	"internal/cli", "internal/cli/run", "internal/cli/dev", "internal/cli/submit", "internal/cli/bulk", "internal/cli/manage",
	"internal/cli/operate", "internal/cli/backup", "internal/cli/simulate", "internal/cli/doctor", "internal/cli/serve",
	"internal/cli/watch", "internal/cli/spec", "internal/cli/link", "internal/cli/local", "internal/cli/command",
	"internal/cli/config", "internal/cli/demo", "internal/cli/term",
}

// commandRows lets each package of the command line use those after it and everything below the command line, but for
// config and demo, which have rows of their own, and for drawing. A backend is chosen where work runs and where a
// store is looked at, nowhere else.
func commandRows() []Row {
	backends := []string{"internal/cli/local", "internal/cli/run", "internal/cli/dev", "internal/cli/serve",
		"internal/cli/doctor", "internal/cli/operate", "internal/cli/backup"}
	var rows []Row
	for i, dir := range commands {
		r := Row{Dir: dir, May: join(base, commands[i+1:], middle, Core, surface, []string{"api", "client", "internal/assembly", "internal/edge/direct"})}
		switch {
		case dir == "internal/cli/config" || dir == "internal/cli/demo":
			continue
		case dir == "internal/cli/term":
			r.May = nil
		case slices.Contains(backends, dir):
			r.May = join(r.May, Backends)
		}
		rows = append(rows, r)
	}
	return rows
}

// surface lists the user-facing packages in the order of imports: each may use those after it.
var surface = []string{
	"internal/server", "internal/service", "internal/service/series", "internal/service/result", "internal/service/watch", "internal/service/outlook",
	"internal/service/bulk",
	"internal/service/draft", "internal/service/fleet", "internal/service/chain", "internal/service/registry",
	"internal/service/check", "internal/service/words",
	"internal/service/upload", "internal/service/callback", "internal/service/schedule", "internal/service/due",
	"internal/service/access", "internal/service/stored", "internal/service/reseal", "internal/service/records",
	"internal/service/vault/transit", "internal/service/vault",
	"internal/edge/feed", "internal/edge/egress", "internal/edge/otlp",
}

// surfaceRows lets each package of the surface use those after it, the middle, the
// core and the contract; none of them knows a backend.
func surfaceRows() []Row {
	var rows []Row
	for i, dir := range surface {
		rows = append(rows, Row{Dir: dir, May: join(base, surface[i+1:], middle, Core, []string{"api", "internal/core/near"})})
	}
	return rows
}

// spokenOf are the core packages that may name the store contract, and have to say
// so: what a partition wants written is a batch, and the books of quotas are a
// backend's.
var spokenOf = []string{"internal/core/partition", "internal/lab/model", "internal/core/quota"}

// coreRows lets each core package use the words and the core packages after it.
func coreRows() []Row {
	var rows []Row
	for i, dir := range Core {
		r := Row{Dir: dir, May: join([]string{"."}, Core[i+1:])}
		if slices.Contains(spokenOf, dir) {
			r.Documented = []string{"store"}
		}
		rows = append(rows, r)
	}
	return rows
}

// middleRows lets each package of the middle use those after it, the core and the contract.
func middleRows() []Row {
	var rows []Row
	for i, dir := range middle {
		rows = append(rows, Row{Dir: dir, May: join(base, middle[i+1:], Core)})
	}
	return rows
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// covers reports whether a directory is meant by pattern.
func covers(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == parent || strings.HasPrefix(dir, parent+"/")
	}
	return pattern == dir
}

func coversAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, dir) })
}

// CheckImports checks the imports of t against rows.
func CheckImports(t *Tree, rows []Row) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		code := p.Code()
		if len(code) == 0 {
			continue // tests only: it cannot be imported
		}
		i := slices.IndexFunc(rows, func(r Row) bool { return covers(r.Dir, p.Dir) })
		if i < 0 {
			out = append(out, Violation{p.Dir, "has no row in archtest.Rows: add one that says what it may import"})
			continue
		}
		for _, f := range code {
			out = append(out, checkFile(t.Module, p, f, rows[i])...)
		}
	}
	return out
}

// CheckFace wants no package inside the module, nor a test of one, to import the face.
func CheckFace(t *Tree) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if !covers("internal/...", p.Dir) {
			continue
		}
		for _, f := range p.Files {
			for _, imp := range f.Imports() {
				if dir, ours := inModule(t.Module, imp.Path); ours && slices.Contains(Face, dir) {
					out = append(out, f.at(imp.Spec, "%s is for users: import internal/engine", dir))
				}
			}
		}
	}
	return out
}

// CheckStale wants every row to be about a package of t.
func CheckStale(t *Tree, rows []Row) []Violation {
	var out []Violation
	for _, r := range rows {
		if !slices.ContainsFunc(t.Packages, func(p *Package) bool { return covers(r.Dir, p.Dir) }) {
			out = append(out, Violation{r.Dir, "has a row in archtest.Rows and no package: remove the row"})
		}
	}
	return out
}

func checkFile(module string, p *Package, f *File, row Row) []Violation {
	var out []Violation
	for _, imp := range f.Imports() {
		dir, ours := inModule(module, imp.Path)
		switch {
		case !ours && row.StdlibOnly && !isStdlib(imp.Path):
			out = append(out, f.at(imp.Spec, "%s may import the standard library only, not %s", p.Dir, imp.Path))
		case !ours, coversAny(row.May, dir):
		case coversAny(row.Documented, dir):
			if !strings.Contains(p.doc(), path.Base(dir)) {
				out = append(out, f.at(imp.Spec, "%s imports %s without saying so in its package comment", p.Dir, dir))
			}
		default:
			out = append(out, f.at(imp.Spec, "%s must not import %s (see archtest.Rows)", p.Dir, dir))
		}
	}
	return out
}

// inModule returns the directory of an import path of the module.
func inModule(module, imp string) (dir string, ok bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// isStdlib reports whether imp is of the standard library: its first element has no dot.
func isStdlib(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// doc returns the text of all package comments of p's code.
func (p *Package) doc() string {
	var b strings.Builder
	for _, f := range p.Code() {
		b.WriteString(f.AST.Doc.Text())
	}
	return b.String()
}
