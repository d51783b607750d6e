package docstest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli"
)

// guides are the pages whose console blocks are played against a node in this process.
var guides = []string{"docs/server.md", "docs/http-actions.md", "docs/moving.md"}

// runElsewhere names the test that runs the sh blocks of a page, or one of them by its first line.
var runElsewhere = map[string]string{
	"docs/scaling.md": "TestLanesOfAFleet", // also the block that only sets a variable
}

// notRun says of sh blocks why nothing runs them, by page and first line. The calls of weir in them are still tried:
// commands and flags have to exist.
var notRun = map[string]string{
	"CONTRIBUTING.md: go build ./...   # everything":                                                                                                  "runs all tests; CI does the same by .ci/run",
	"docs/backup.md: weir backup --server https://weir.example.com monday.backup":                                                                     "a server in production; script/backup.txtar runs the command",
	"docs/backup.md: export AWS_ENDPOINT_URL=https://s3.example.com AWS_REGION=eu-central-1":                                                          "a bucket in production; TestABackupGoesToAnObjectStoreAndBack uses a real S3 server",
	"docs/backup.md: weir backup --data /var/lib/weir monday.backup":                                                                                  "a directory in production; script/backup.txtar runs the command",
	"docs/backup.md: weir restore --data /var/lib/weir monday.backup":                                                                                 "a directory in production; script/backup.txtar runs the command",
	"docs/backup.md: weir backup --data /var/lib/weir move.backup":                                                                                    "a directory and a Redis in production; script/backup.txtar runs the commands",
	"docs/deploy.md: install -m 755 weir /usr/local/bin/weir":                                                                                         "installs into the system; deploy/deploy_test.go checks the unit",
	"docs/deploy.md: docker run -d --name weir -v weir:/var/lib/weir -v \"$PWD/admin.key:/run/admin.key:ro\" -p 127.0.0.1:8080:8080 \\":               "needs docker; deploy/deploy_test.go checks the image",
	"docs/clients.md: npx openapi-typescript http://localhost:8080/openapi.json -o schema.d.ts":                                                       "needs npm; make generators runs it",
	"docs/clients.md: npx @hey-api/openapi-ts -i http://localhost:8080/openapi.json -o api -p @hey-api/client-fetch @hey-api/typescript @hey-api/sdk": "needs npm; make generators runs it",
	"docs/clients.md: npx orval --config ./orval.config.ts   # client: \"fetch\"; see tools/generators/orval.config.ts":                               "needs npm; make generators runs it",
	"docs/clients.md: go tool oapi-codegen -config config.yaml -o client.gen.go openapi-3.0.json   # see tools/apiclient/config.yaml":                 "make test runs it in tools/apiclient",
	"docs/clients.md: ogen --config ogen.yml --target weirogen --package weirogen openapi.json   # see tools/generators/ogen":                         "make generators runs it",
	"docs/endpoints.md: export WEIR_SECRET=whsec_$(openssl rand -base64 32)":                                                                          "does not end; TestEndpointsSurviveHostileRequests runs the samples",
	"docs/endpoints.md: curl -X PUT localhost:8080/v1/actions/award -H 'Content-Type: application/json' \\":                                           "needs a sample that runs; TestEndpointsSurviveHostileRequests calls them",
	"docs/kubernetes.md: kubectl create namespace jobs":                                                                                               "needs a cluster; TestTheChartFitsTheProgram checks the chart",
	"docs/kubernetes.md: helm install weir deploy/chart --namespace jobs --values values.yaml":                                                        "needs a cluster; make chart renders the chart with the values of the page",
	"docs/kubernetes.md: kubectl -n jobs create secret generic weir-vault --from-literal=vault-key=\"$(openssl rand -base64 32)\"":                    "needs a cluster",
	"docs/kubernetes.md: kubectl -n jobs port-forward deployment/weir 8081 &":                                                                         "needs a cluster; make chart makes the same key",
	"docs/kubernetes.md: helm upgrade weir deploy/chart --namespace jobs --values values.yaml":                                                        "needs a cluster",
	"docs/kubernetes.md: helm uninstall weir --namespace jobs":                                                                                        "needs a cluster",
	"docs/security.md: bao write -f transit/keys/weir":                                                                                                "needs an OpenBao; a test of package vault answers as one",
	"docs/storage.md: find /var/lib/weir/store -name '*.sst' -o -name '*.log' | xargs du -cb | tail -1":                                               "a directory in production",
	"docs/plots.md: make plots": "TestThePageHasEveryFigureWithItsValues draws the same and compares",
	"docs/server.md: weir dev      # a demo server in memory, with a tour of its pages":             "do not end; the tests of package dev and script/serve.txtar run both",
	"docs/server.md: curl -s localhost:8080/v1/bulk-actions -H 'Content-Type: application/json' \\": "the id of an upload that the reader has made; TestAnUploadInPiecesBecomesABulkAction does the same",
	"docs/traces.md: weir serve --traces-endpoint http://localhost:4318/v1/traces":                  "does not end; TestABulkActionOverTwoNodesIsOneTrace receives the spans",
	"docs/tutorial.md: git clone https://github.com/weirhq/weir":                                    "builds weir anew; TestTheTutorialInstallsThisRepository looks at it",
}

var testInReason = regexp.MustCompile(`\bTest[A-Za-z0-9]+`)

// block is a fenced block of commands.
type block struct {
	page, kind string
	line       int
	lines      []string
}

func (b block) name() string { return b.page + ": " + b.lines[0] }

// blocks lists the blocks of commands of a page.
func blocks(page, text string) (all []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		kind, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case open != nil && fence:
			if slices.Contains([]string{"sh", "console", "bash", "shell"}, open.kind) && len(open.lines) > 0 {
				all = append(all, *open)
			}
			open = nil
		case fence:
			open = &block{page: page, kind: kind, line: i + 1}
		case open != nil:
			open.lines = append(open.lines, strings.TrimSpace(line))
		}
	}
	return all
}

// allBlocks lists those of all pages.
func allBlocks(t *testing.T) (all []block) {
	t.Helper()
	root := Root(t)
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md", "deploy/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			page, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			page = filepath.ToSlash(page)
			all = append(all, blocks(page, Read(t, page))...)
		}
	}
	if len(all) < 60 {
		t.Fatalf("found only %d blocks of commands", len(all))
	}
	return all
}

// TestEveryBlockOfCommandsIsRunOrSaysWhyNot fails for a new block that no test runs and that is not listed above.
func TestEveryBlockOfCommandsIsRunOrSaysWhyNot(t *testing.T) {
	tests, left := testsIn(t, Root(t)), map[string]bool{}
	for name, why := range notRun {
		left[name] = true
		for _, m := range testInReason.FindAllString(why, -1) {
			if !tests[m] {
				t.Errorf("%s: there is no test %s", name, m)
			}
		}
	}
	for _, b := range allBlocks(t) {
		delete(left, b.name())
		_, isTyped := typed[b.page]
		switch {
		case b.kind == "console" && (isTyped || slices.Contains(guides, b.page)):
		case b.kind == "sh" && (notRun[b.name()] != "" || tests[runElsewhere[b.page]] || slices.Contains(readmeBlocks, b.name())):
		default:
			t.Errorf("%s:%d: no test runs the block that begins with %q; mark it console and add the page to a test, or list it with a reason", b.page, b.line, b.lines[0])
		}
	}
	for name := range left {
		t.Errorf("notRun names a block that does not exist: %s", name)
	}
}

// TestEveryCallOfWeirCanBeTyped asks for the help of each call with its flags: a command or a flag that does not exist,
// or a value that a flag does not take, is an error then.
func TestEveryCallOfWeirCanBeTyped(t *testing.T) {
	calls := 0
	for _, b := range allBlocks(t) {
		text := strings.ReplaceAll(strings.Join(b.lines, "\n"), "\\\n", " ")
		text = strings.ReplaceAll(text, "go run ./cmd/weir", "weir")
		for line := range strings.SplitSeq(text, "\n") {
			if b.kind == "console" && !strings.HasPrefix(line, "$ ") {
				continue
			}
			for _, args := range Commands(strings.TrimPrefix(line, "$ ")) {
				calls++
				var out, messages bytes.Buffer
				env := cli.Env{Args: append(args[1:], "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, Dir: t.TempDir()}
				if code := cli.Main(t.Context(), env); code != 0 {
					t.Errorf("%s:%d: %q: exit code %d: %s", b.page, b.line, args, code, &messages)
				}
			}
		}
	}
	if calls < 60 {
		t.Errorf("found only %d calls of weir", calls)
	}
}

// readmeBlocks are the blocks of the first page that TestTheCommandsOfTheReadmeWork runs.
var readmeBlocks = []string{
	"README.md: # a file in, two steps over every row, a report out",
	"README.md: go run ./cmd/weir serve &      # listens on 127.0.0.1:8080, keeps everything in .weir",
	"README.md: weir simulate flood                                              # a million items beside small ones",
}

// TestTheCommandsOfTheReadmeWork runs them in this process: a node instead of the server, and no second run of all tests.
func TestTheCommandsOfTheReadmeWork(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples", "rewards"), os.DirFS(filepath.Join(Root(t), "examples", "rewards"))); err != nil {
		t.Fatal(err)
	}
	n := demoNode(t)
	hosts := map[string]string{weirHost: strings.TrimPrefix(n.URL, "http://")}
	c := &curl{ctx: t.Context(), files: map[string]string{}, dir: dir, hosts: hosts}
	for _, b := range blocks("README.md", Read(t, "README.md")) {
		if !slices.Contains(readmeBlocks, b.name()) {
			continue
		}
		text := strings.ReplaceAll(strings.Join(b.lines, "\n"), "go run ./cmd/weir", "weir")
		for _, line := range logicalLines(text) {
			switch {
			case strings.HasPrefix(line, "curl "):
				s := &shell{vars: map[string]string{}, programs: map[string]func([]string) (string, error){"curl": c.run}}
				out, err := s.piped(line)
				if err != nil || !strings.Contains(out, `"u1"`) && !strings.Contains(out, `"ba_`) {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
			case strings.HasPrefix(line, "weir serve"), strings.HasPrefix(line, "make "), strings.HasPrefix(line, "#"):
			default:
				runInto(t, strings.Replace(line, "--runs 20", "--runs 2", 1), dir) // a tenth is enough here
			}
		}
	}
}

// logicalLines joins lines inside quotes.
func logicalLines(text string) (all []string) {
	open := ""
	for line := range strings.SplitSeq(text, "\n") {
		if open != "" {
			line = open + " " + line
		}
		if open = ""; strings.Count(line, "'")%2 == 1 {
			open = line
		} else if line != "" {
			all = append(all, line)
		}
	}
	return all
}

// runInto runs the calls of weir in a line, each without a server. The output of the first goes into a file if the line
// says so.
func runInto(t *testing.T, line, dir string) {
	t.Helper()
	for i, args := range Commands(line) {
		var out, messages bytes.Buffer
		env := cli.Env{Args: args[1:], Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, Dir: dir}
		if code := cli.Main(t.Context(), env); code != 0 && code != 5 { // some items of the demo fail
			t.Errorf("%q: exit code %d: %s", args, code, &messages)
		}
		if _, into, ok := strings.Cut(line, " > "); ok && i == 0 {
			name, _ := word(into)
			if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
