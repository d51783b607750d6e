// Package deploy has what weir is installed with; the tests check it against the program.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/weirhq/weir/internal/cli/config"
)

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// found returns what a pattern with one group finds in a file; it has to find something.
func found(t *testing.T, in, pattern string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	return all
}

// settings are the flags of weir serve, and their variables.
func settings() (flags, vars []string) {
	for _, s := range config.Settings() {
		flags, vars = append(flags, s.Flag), append(vars, s.Env)
	}
	return append(flags, "config"), vars
}

func TestTheServiceFitsTheProgram(t *testing.T) {
	unit := read(t, "weir.service")
	flags, vars := settings()
	for _, f := range found(t, unit, `ExecStart=.* --([a-z-]+) `) {
		if !slices.Contains(flags, f) {
			t.Errorf("weir serve has no flag --%s", f)
		}
	}
	for _, v := range found(t, unit, `Environment=([A-Z_]+)=`) {
		if !slices.Contains(vars, v) {
			t.Errorf("weir serve reads no variable %s", v)
		}
	}
	conf, err := config.Load(config.Source{Path: "weir.yaml", Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if dir := found(t, unit, `WorkingDirectory=(.+)`)[0]; conf.Data != dir {
		t.Errorf("the settings put data into %s, and the service may write to %s", conf.Data, dir)
	}
	if wait, err := time.ParseDuration(found(t, unit, `TimeoutStopSec=(.+)`)[0] + "s"); err != nil || wait < time.Duration(conf.Drain)+10*time.Second {
		t.Errorf("systemd kills after %v, %v; running calls may take %v", wait, err, time.Duration(conf.Drain))
	}
	if !strings.Contains(unit, "RestartPreventExitStatus=2") {
		t.Error("a mistake in the settings is tried again for ever")
	}
}

// TestTheImageIsTheSameWithDockerAndBuildah compares the Dockerfile with the script that needs no daemon.
func TestTheImageIsTheSameWithDockerAndBuildah(t *testing.T) {
	file, script := read(t, "Dockerfile"), read(t, "build-image.sh")
	_, last, _ := strings.Cut(file, "FROM scratch")
	for what, pattern := range map[string][2]string{
		"user": {`USER (\S+)`, `--user (\S+)`}, "volume": {`VOLUME (\S+)`, `--volume (\S+)`}, "port": {`EXPOSE (\d+)`, `--port (\d+)`},
		"signal": {`STOPSIGNAL (\S+)`, `--stop-signal (\S+)`}, "entry": {`ENTRYPOINT (\[.*\])`, `--entrypoint '(.*?)'`},
		"owner":    {`--chown=(\S+) \S+ /var/lib/weir`, `--chown (\S+) .* /var/lib/weir`},
		"interval": {`--interval=(\S+)`, `--healthcheck-interval (\S+)`}, "timeout": {`--timeout=(\S+)`, `--healthcheck-timeout (\S+)`},
	} {
		if one, other := found(t, last, pattern[0])[0], found(t, script, pattern[1])[0]; one != other {
			t.Errorf("%s: %s in the Dockerfile, %s in the script", what, one, other)
		}
	}
	_, vars := settings()
	env := strings.Fields(found(t, last, `ENV (.+)`)[0])
	if given := found(t, script, `--env (\S+)`); !slices.Equal(env, given) {
		t.Errorf("variables: %q in the Dockerfile, %q in the script", env, given)
	}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(vars, name) {
			t.Errorf("weir serve reads no variable %s", name)
		}
	}
	check := strings.NewReplacer(`"`, "", ",", "").Replace(found(t, last, `CMD \[(.*health.*)\]`)[0])
	if given := found(t, script, `--healthcheck 'CMD (.*?)'`)[0]; check != given {
		t.Errorf("health check: %q in the Dockerfile, %q in the script", check, given)
	}
	if user := found(t, last, `USER (\d+)`)[0]; user == "0" {
		t.Error("the image runs as root")
	}
	for _, from := range found(t, file, `FROM (\S+)`) {
		if strings.HasSuffix(from, ":latest") || !strings.Contains(from, ":") && from != "scratch" {
			t.Errorf("%s is another image tomorrow", from)
		}
	}
}

// TestTheDockerfileKeepsTheUsualRules checks what hadolint would, as far as the file has it.
func TestTheDockerfileKeepsTheUsualRules(t *testing.T) {
	commands := map[string]int{}
	for i, line := range strings.Split(read(t, "Dockerfile"), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "FROM" {
			clear(commands) // of the stage
		}
		commands[word]++
		_, run, _ := strings.Cut(line, "CMD ")
		switch {
		case word == "ADD" || word == "MAINTAINER" || word == "SHELL" || word == "RUN" && strings.Contains(rest, "sudo "):
			t.Errorf("line %d: %s", i+1, line)
		case word == "WORKDIR" && !strings.HasPrefix(rest, "/"):
			t.Errorf("line %d: %s is not absolute", i+1, rest)
		case word == "ENTRYPOINT" && !strings.HasPrefix(rest, "["), (word == "CMD" || word == "HEALTHCHECK") && !strings.HasPrefix(run, "["):
			t.Errorf("line %d: a shell would run this, and there is none: %s", i+1, line)
		}
	}
	for _, word := range []string{"USER", "HEALTHCHECK", "ENTRYPOINT", "CMD"} {
		if commands[word] != 1 {
			t.Errorf("%d times %s in the image", commands[word], word)
		}
	}
}

// TestWorkflowsCallWhatIsThere reads the workflows, and looks for the scripts and targets that they call.
func TestWorkflowsCallWhatIsThere(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows", err)
	}
	makefile := read(t, "../Makefile")
	for _, name := range files {
		var w struct {
			Name string
			On   map[string]any
			Jobs map[string]struct {
				RunsOn  string `yaml:"runs-on"`
				Timeout int    `yaml:"timeout-minutes"`
				Steps   []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, name)), &w); err != nil || w.Name == "" || len(w.On) == 0 || len(w.Jobs) == 0 {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		for job, j := range w.Jobs {
			if j.RunsOn == "" || j.Timeout == 0 || len(j.Steps) == 0 {
				t.Errorf("%s: the job %s has no machine, no end or no steps", name, job)
			}
			for _, s := range j.Steps {
				for _, m := range regexp.MustCompile(`(?m)^\s*make ([a-z]+)`).FindAllStringSubmatch(s.Run, -1) {
					if !strings.Contains(makefile, "\n"+m[1]+":") {
						t.Errorf("%s: there is no make %s", name, m[1])
					}
				}
				if s.Uses != "" && !regexp.MustCompile(`@v\d+$`).MatchString(s.Uses) {
					t.Errorf("%s: %s has no version", name, s.Uses)
				}
			}
		}
	}
	if ci := read(t, "../.github/workflows/ci.yml"); !strings.Contains(ci, "run: .ci/run") {
		t.Error("the workflow of every change does not run .ci/run")
	}
}

// TestAReleaseHasFilesThatAreThere follows the paths in the description of a release.
func TestAReleaseHasFilesThatAreThere(t *testing.T) {
	var r struct {
		Archives []struct{ Files []struct{ Src string } }
		Nfpms    []struct{ Contents []struct{ Src string } }
		Builds   []struct {
			Main         string
			Goos, Goarch []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../.goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	made := read(t, "release-files.sh")
	var sources []string
	for _, a := range r.Archives {
		for _, f := range a.Files {
			sources = append(sources, f.Src)
		}
	}
	for _, p := range r.Nfpms {
		for _, c := range p.Contents {
			sources = append(sources, c.Src)
		}
	}
	if len(sources) < 10 {
		t.Errorf("a release has %d sources", len(sources))
	}
	for _, src := range sources {
		if rest, ours := strings.CutPrefix(src, "release/"); ours { // made by the script
			if part, _, _ := strings.Cut(rest, "/"); !strings.Contains(made, "$out/"+part) {
				t.Errorf("release-files.sh does not make %s", src)
			}
		} else if _, err := os.Stat("../" + src); err != nil {
			t.Error(err)
		}
	}
	systems := found(t, read(t, "../.github/workflows/ci.yml"), `CROSS="(.*)"`)[0]
	for _, b := range r.Builds {
		for _, system := range b.Goos {
			for _, cpu := range b.Goarch {
				if !slices.Contains(strings.Fields(systems), system+"/"+cpu) {
					t.Errorf("no change is compiled for %s/%s before it is released", system, cpu)
				}
			}
		}
	}
}

// TestThePackagedServiceStartsThePackagedProgram follows the unit from the sources into the packages.
func TestThePackagedServiceStartsThePackagedProgram(t *testing.T) {
	edit := regexp.MustCompile(`sed 's#\^(\S+)#(\S+)#' deploy/weir.service >"\$out/weir.service"`).FindStringSubmatch(read(t, "release-files.sh"))
	if edit == nil {
		t.Fatal("release-files.sh does not make weir.service")
	}
	unit := strings.Replace(read(t, "weir.service"), "\n"+edit[1], "\n"+edit[2], 1)
	if got := found(t, unit, `(?m)^ExecStart=(\S+) `)[0]; got != "/usr/bin/weir" { // where nfpm puts a program unless it is told
		t.Errorf("the service starts %s", got)
	}
	release := read(t, "../.goreleaser.yaml")
	if !strings.Contains(release, "src: release/weir.service, dst: /usr/lib/systemd/system/") || strings.Contains(release, "bindir:") {
		t.Error("the packages have another unit, or the program elsewhere")
	}
	for _, part := range []string{"Binary", "Os", "Arch"} {
		if document := found(t, release, `documents: \["(.*)"\]`)[0]; !strings.Contains(document, "{{ ."+part+" }}") {
			t.Errorf("two programs have one list of components: %s", document)
		}
	}
}
