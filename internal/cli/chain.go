package cli

import (
	"encoding/json"
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

func newCatalogue(env *Env, file *config.File) catalogue {
	c := catalogue{compiled: map[string]weir.Step{}, file: file}
	if file == nil {
		c.file = &config.File{}
	}
	for _, s := range slices.Concat(demo.Actions(demo.Options{}), env.Steps) {
		c.compiled[s.Name] = s
	}
	return c
}

// resolve fills in what weir.yaml says about the actions of a chain, so that the
// result needs no weir.yaml any more, and gives every step a name of its own.
func (c catalogue) resolve(chain config.Chain) (config.Chain, error) {
	if len(chain.Steps) > weir.MaxSteps {
		return chain, badUsage("split the chain", "%d steps are more than %d", len(chain.Steps), weir.MaxSteps)
	}
	chain.Steps = slices.Clone(chain.Steps)
	for i := range chain.Steps {
		s := &chain.Steps[i]
		if err := c.resolveStep(s); err != nil {
			return chain, err
		}
		if s.Name == "" {
			s.Name = freeName(s.Action, chain.Steps[:i])
		}
	}
	if chain.Name == "" {
		chain.Name = chainName(chain.Steps)
	}
	return chain, nil
}

func (c catalogue) resolveStep(s *config.Step) error {
	if s.UndoURL != "" {
		return badUsage("leave it out, or put the action under actions in "+config.FileName+" and submit to a server", "undo_url: weir run cannot undo")
	}
	if s.URL != "" {
		if s.Action == "" {
			s.Action = urlName(s.URL)
		}
		return nil
	}
	if _, ok := c.compiled[s.Action]; ok {
		return nil
	}
	known, ok := c.file.Actions[s.Action]
	if !ok {
		return c.unknown(s.Action)
	}
	known.Name, known.Action, known.UndoURL = s.Name, s.Action, ""
	if r, ok := c.file.Resources[known.Resource]; ok {
		known.Rate, known.Concurrency, known.Pacing = r.Rate, r.Concurrency, r.Pacing
	}
	override(&known, s)
	*s = known
	return nil
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
	if with.Resource != "" {
		s.Resource = with.Resource
	}
}

func (c catalogue) unknown(name string) error {
	names := slices.Sorted(maps.Keys(c.compiled))
	names = append(names, slices.Sorted(maps.Keys(c.file.Actions))...)
	fix := "known: " + strings.Join(names, ", ") + ". Add others under actions in " + config.FileName + ", or use --url"
	if meant := near.Word(name, names); meant != "" {
		fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
	}
	if name == "" {
		return badUsage(fix, "a step has neither action nor url")
	}
	return badUsage(fix, "there is no action %q", name)
}

func freeName(name string, taken []config.Step) string {
	free := name
	for n := 2; slices.ContainsFunc(taken, func(s config.Step) bool { return s.Name == free }); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

func chainName(steps []config.Step) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, "+")
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// urlName names an action after where it is: host and path.
func urlName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "http" // the engine says what is wrong with the URL
	}
	return strings.Trim(notInName.ReplaceAllString(u.Host+u.Path, "-"), "-.")
}

// steps makes what the engine runs of a resolved chain.
func (c catalogue) steps(chain config.Chain) ([]weir.Step, error) {
	var out []weir.Step
	for _, s := range chain.Steps {
		step, err := c.step(s)
		if err != nil {
			return nil, err
		}
		out = append(out, step)
	}
	return out, nil
}

func (c catalogue) step(s config.Step) (weir.Step, error) {
	step, ok := c.compiled[s.Action]
	if s.URL != "" {
		var err error
		if step, err = httpStep(s); err != nil {
			return step, err
		}
	} else if !ok {
		return step, c.unknown(s.Action)
	}
	step.Name = s.Name
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

func httpStep(s config.Step) (weir.Step, error) {
	header, err := s.Headers()
	if err != nil {
		return weir.Step{}, badUsage("check header_file of "+s.Action, "%v", err)
	}
	h := weir.HTTPAction[json.RawMessage, json.RawMessage]{Name: s.Action, URL: s.URL, Header: header}
	if s.SecretFile != "" {
		if h.Secret, err = readSecret(s.SecretFile); err != nil {
			return weir.Step{}, err
		}
	}
	if !strings.Contains(s.URL, "://") && !strings.ContainsAny(s.URL, "@?") { // those may hold a secret
		return weir.Step{}, badUsage("write http://"+s.URL+" or https://"+s.URL, "url: %s does not begin with http:// or https://", s.URL)
	}
	step := weir.RawStep(h.Action())
	_, err = execute.HTTP(step, execute.HTTPOptions{}) // says what is wrong with URL, header or secret before anything is read
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

// callSize returns how many items a call of a step carries at its rate.
func callSize(s *weir.Step) int {
	return limit.Size{Rate: float64(s.Resource.Rate), Full: s.Resource.Pacing == weir.Full}.Items(s.BatchSize)
}

// line shows the chain and its limits.
func chainLine(p paint, steps []weir.Step) string {
	var parts []string
	for _, s := range steps {
		limits := fmt.Sprintf("batch %d", s.BatchSize)
		if s.Resource.Rate > 0 {
			if n := callSize(&s); n < s.BatchSize {
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
