package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/edge/execute"
)

// catalogue knows the actions: compiled in, of the demo, and of weir.yaml.
type catalogue struct {
	compiled map[string]weir.Step
	file     *config.File
}

// openCatalogue reads the actions of a configuration file. Without a name, it is weir.yaml, if that exists.
func openCatalogue(env *command.Env, path string) (catalogue, error) {
	c := catalogue{compiled: map[string]weir.Step{}, file: &config.File{}}
	for _, s := range slices.Concat(demo.Actions(demo.Options{}), env.Steps) {
		c.compiled[s.Name] = s
	}
	if path == "" {
		path = config.FileName
		if _, err := os.Stat(env.Path(path)); errors.Is(err, os.ErrNotExist) {
			return c, nil
		}
	}
	file, err := config.LoadFile(env.Path(path))
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
		return config.Step{}, command.BadUsage(fix, "a step has no action")
	}
	return config.Step{}, command.BadUsage(fix, "unknown action %q", name)
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
	for n := 2; slices.ContainsFunc(taken, func(s api.Step) bool { return spec.StepName(s) == free }); n++ {
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
		return weir.Step{}, command.BadUsage("check header_file of "+name, "%v", err)
	}
	h := weir.HTTPAction[json.RawMessage, json.RawMessage]{Name: name, URL: s.URL, Header: header, Timeout: time.Duration(s.Timeout)}
	if s.SecretFile != "" {
		if h.Secret, err = command.ReadSecret("secret file", s.SecretFile); err != nil {
			return weir.Step{}, err
		}
	}
	if !strings.Contains(s.URL, "://") && !strings.ContainsAny(s.URL, "@?") { // those may hold a secret
		return weir.Step{}, command.BadUsage("write http://"+s.URL+" or https://"+s.URL,
			"url: %s does not begin with http:// or https://", s.URL)
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

// inChain returns the actions of a bulk action's steps in their order, under the names of the steps.
func inChain(actions []weir.Step, chain []api.Step) (out []weir.Step) {
	for _, st := range chain {
		step := weir.Step{}
		if i := slices.IndexFunc(actions, func(a weir.Step) bool { return a.Name == st.Action }); i >= 0 {
			step = actions[i]
		}
		step.Name, step.Action = spec.StepName(st), st.Action
		out = append(out, step)
	}
	return out
}
