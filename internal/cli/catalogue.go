package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/edge/execute"
)

// catalogue knows the actions: compiled in, of the demo, and of weir.yaml.
type catalogue struct {
	compiled map[string]weir.Step
	file     *config.File
}

// openCatalogue reads the actions of a configuration file. Without a name, it is weir.yaml, if that exists.
func openCatalogue(env *Env, path string) (catalogue, error) {
	c := catalogue{compiled: map[string]weir.Step{}, file: &config.File{}}
	for _, s := range slices.Concat(demo.Actions(demo.Options{}), env.Steps) {
		c.compiled[s.Name] = s
	}
	if path == "" {
		path = config.FileName
		if _, err := os.Stat(env.path(path)); errors.Is(err, os.ErrNotExist) {
			return c, nil
		}
	}
	file, err := config.LoadFile(env.path(path))
	if err != nil {
		return c, asWritten(err, path)
	}
	c.file = file
	return c, nil
}

// asWritten names a file in an error by the path that the user wrote.
func asWritten(err error, path string) error {
	if e, ok := errors.AsType[*config.Error](err); ok {
		e.File = path
	}
	return err
}

// find returns how an action is called, with the limits of its resource: the result needs no weir.yaml any more.
func (c catalogue) find(name string) (config.Step, error) {
	if known, ok := c.file.Actions[name]; ok {
		if r, ok := c.file.Resources[known.Resource]; ok {
			known.Rate, known.Concurrency, known.Pacing = r.Rate, r.Concurrency, r.Pacing
		}
		return known, nil
	}
	if _, ok := c.compiled[name]; ok {
		return config.Step{}, nil
	}
	names := slices.Sorted(maps.Keys(c.compiled))
	names = append(names, slices.Sorted(maps.Keys(c.file.Actions))...)
	fix := "known: " + strings.Join(names, ", ") + ". Add others under actions in " + config.FileName + ", or use --url"
	if meant := near.Word(name, names); meant != "" {
		fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
	}
	if name == "" {
		return config.Step{}, badUsage(fix, "a step has no action")
	}
	return config.Step{}, badUsage(fix, "unknown action %q", name)
}

// override sets in s what is set in with.
func override(s, with *config.Step) {
	if with.Batch != 0 {
		s.Batch = with.Batch
	}
	if with.Timeout != 0 {
		s.Timeout = with.Timeout
	}
	if with.Retries != 0 {
		s.Retries = with.Retries
	}
	if with.Rate != 0 {
		s.Rate = with.Rate
	}
	if with.Concurrency != 0 {
		s.Concurrency = with.Concurrency
	}
	if with.Pacing != "" {
		s.Pacing = with.Pacing
	}
}

// freeName gives a step that is there twice a name of its own.
func freeName(name string, taken []api.Step) string {
	free := name
	for n := 2; slices.ContainsFunc(taken, func(s api.Step) bool { return stepName(s) == free }); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// urlName names an action after where it is: host and path.
func urlName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "http" // what is wrong with the URL is said later
	}
	return strings.Trim(notInName.ReplaceAllString(u.Host+u.Path, "-"), "-.")
}

// steps makes what a node runs of the actions of a run.
func (c catalogue) steps(actions map[string]config.Step) (out []weir.Step, err error) {
	o := execute.HTTPOptions{Transport: execute.NewTransport(), Memory: execute.NewMemory()}
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		step, err := c.step(name, actions[name], o)
		if err != nil {
			return nil, err
		}
		out = append(out, step)
	}
	return out, nil
}

func (c catalogue) step(name string, s config.Step, o execute.HTTPOptions) (step weir.Step, err error) {
	if s.URL != "" {
		step, err = httpStep(name, s, o)
	} else if known, ok := c.compiled[name]; ok {
		step = known
	} else {
		_, err = c.find(name)
	}
	if err != nil {
		return step, err
	}
	if s.Batch != 0 {
		step.BatchSize = int(s.Batch)
	}
	if s.Timeout != 0 {
		step.Timeout = time.Duration(s.Timeout)
	}
	if n := s.Retries.Attempts(); n != 0 {
		step.Retry.MaxAttempts = n
	}
	if s.Rate != 0 {
		step.Resource.Rate = weir.Rate(s.Rate)
	}
	if s.Concurrency != 0 {
		step.Resource.Concurrency = int(s.Concurrency)
	}
	if s.Pacing != "" {
		step.Resource.Pacing = weir.Pacing(s.Pacing)
	}
	if s.Resource != "" {
		step.Resource.Name = s.Resource
	}
	return step, nil
}

// httpStep makes an action that is called by its URL, and undone by another.
func httpStep(name string, s config.Step, o execute.HTTPOptions) (weir.Step, error) {
	header, err := s.Headers()
	if err != nil {
		return weir.Step{}, badUsage("check header_file of "+name, "%v", err)
	}
	h := weir.HTTPAction[json.RawMessage, json.RawMessage]{Name: name, URL: s.URL, Header: header, Timeout: time.Duration(s.Timeout)}
	if s.SecretFile != "" {
		if h.Secret, err = readSecret(s.SecretFile); err != nil {
			return weir.Step{}, err
		}
	}
	if !strings.Contains(s.URL, "://") && !strings.ContainsAny(s.URL, "@?") { // those may hold a secret
		return weir.Step{}, badUsage("write http://"+s.URL+" or https://"+s.URL, "url: %s does not begin with http:// or https://", s.URL)
	}
	step := weir.RawStep(h.Action())
	if step.Handle, err = execute.HTTP(step, o); err != nil || s.UndoURL == "" {
		return step, err
	}
	back := *step.Endpoint
	back.URL = s.UndoURL
	undo := step
	undo.Endpoint = &back
	step.Undo, err = execute.HTTP(undo, o)
	return step, err
}

// readSecret reads a key that signs calls. It refuses a file that every user can read.
func readSecret(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", badUsage("write the secret into it, as whsec_ and base64", "secret file %s: %v", path, err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o004 != 0 {
		return "", badUsage("chmod 600 "+path, "secret file %s is readable by every user (%v)", path, st.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", badUsage("", "secret file %s: %v", path, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// inChain returns the actions of a bulk action's steps in their order, under the names of the steps.
func inChain(actions []weir.Step, chain []api.Step) (out []weir.Step) {
	for _, st := range chain {
		step := weir.Step{}
		if i := slices.IndexFunc(actions, func(a weir.Step) bool { return a.Name == st.Action }); i >= 0 {
			step = actions[i]
		}
		step.Name, step.Action = stepName(st), st.Action
		out = append(out, step)
	}
	return out
}

// chainLine shows the chain and its limits.
func chainLine(p paint, steps []weir.Step) string {
	var parts []string
	for _, s := range steps {
		limits := fmt.Sprintf("batch %d", s.BatchSize)
		if s.Resource.Rate > 0 {
			if n := (limit.Size{Rate: float64(s.Resource.Rate), Full: s.Resource.Pacing == weir.Full}).Items(s.BatchSize); n < s.BatchSize {
				limits += fmt.Sprintf(" cut to %d by the rate", n)
			}
			limits += ", ≤" + perSecond(float64(s.Resource.Rate))
		}
		if s.Resource.Concurrency > 0 {
			limits += fmt.Sprintf(", ≤%d at once", s.Resource.Concurrency)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", s.Name, limits))
	}
	return "  " + p.dim("chain") + "     " + strings.Join(parts, " → ")
}
