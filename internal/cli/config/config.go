// Package config reads what a person wrote into options: the settings of a
// server from flags, environment and the file weir.yaml, which also holds actions
// and resources.
//
// Reading is strict. An unknown or repeated key, a number without its unit and a
// value out of bounds are errors that name file, line, what was found and what
// to write instead, and all of them are told at once. Value types such as
// [Duration] and [Rate] have the method set of a command-line flag, so that a
// flag, a variable and a line of YAML mean the same.
//
// Each setting is one field of [Server]. Its key in the file is also the name of
// its flag and its variable, and each value remembers which of them it came
// from. Secrets come from files that are not readable by every user, or from variables,
// and are never shown.
package config

import (
	"maps"
	"os"
)

// FileName is the configuration looked for in the working directory.
const FileName = "weir.yaml"

// File is the content of weir.yaml.
type File struct {
	Actions   map[string]Step     `yaml:"actions"`
	Resources map[string]Resource `yaml:"resources"`
}

// Step says how one action is called. What is zero was not set.
type Step struct {
	Name        string            `yaml:"name"        json:"name,omitempty"`
	Action      string            `yaml:"action"      json:"action,omitempty"`
	URL         string            `yaml:"url"         json:"url,omitempty"         help:"endpoint that receives batches"`
	UndoURL     string            `yaml:"undo_url"    json:"undo_url,omitempty"    help:"endpoint that receives the items to undo; without it the action cannot be undone"`
	SecretFile  string            `yaml:"secret_file" json:"secret_file,omitempty" path:"yes" secret:"-" help:"file with the secret that signs calls, whsec_…"`
	Header      map[string]string `yaml:"header"      json:"header,omitempty"      plain:"header_file" help:"headers to send, by name; those with credentials belong in header_file"`
	HeaderFile  map[string]string `yaml:"header_file" json:"header_file,omitempty" path:"yes" secret:"-" help:"headers whose values are in files"`
	Batch       Batch             `yaml:"batch"       json:"batch,omitempty"       help:"maximum items per call (default 100)"`
	Timeout     Duration          `yaml:"timeout"     json:"timeout,omitempty"     help:"timeout of a call (default 30s)"`
	Retries     Retries           `yaml:"retries"     json:"retries,omitempty"     help:"maximum retries of a failed item (default 4)"`
	Rate        Rate              `yaml:"rate"        json:"rate,omitempty"        help:"maximum items per second, as in 300/s, if the action has no resource"`
	Concurrency Concurrency       `yaml:"concurrency" json:"concurrency,omitempty" help:"maximum concurrent calls, if the action has no resource"`
	Pacing      Pacing            `yaml:"pacing"      json:"pacing,omitempty"      help:"smooth: an even stream of small calls; full: few calls with full batches"`
	Resource    string            `yaml:"resource"    json:"resource,omitempty"    help:"name of a resource, shared with other actions"`
}

// Resource is the limits of something downstream that several actions share.
type Resource struct {
	Rate        Rate        `yaml:"rate"        help:"maximum items per second, as in 300/s, over all nodes"`
	Concurrency Concurrency `yaml:"concurrency" help:"maximum concurrent tasks, over all nodes"`
	Pacing      Pacing      `yaml:"pacing"      help:"smooth: an even stream of small calls; full: few calls with full batches"`
}

// LoadFile reads the actions and resources of a weir.yaml. The settings of a
// server that may be there, too, are left alone, but for their names.
func LoadFile(path string) (*File, error) {
	s := &Server{origins: map[string]origin{}}
	l := &loader{Source: Source{Path: path, Name: path, Getenv: os.Getenv}, server: s}
	l.fromFile("actions", "resources")
	checkActions(s, l.fault)
	return &File{Actions: s.Actions, Resources: s.Resources}, l.err()
}

// Headers are the headers of an action's calls, those in files included.
func (s *Step) Headers() (map[string]string, error) {
	if len(s.HeaderFile) == 0 {
		return s.Header, nil
	}
	all := maps.Clone(s.Header)
	if all == nil {
		all = map[string]string{}
	}
	for name, path := range s.HeaderFile {
		secret, err := ReadSecret(path)
		if err != nil {
			return nil, err
		}
		all[name] = secret.Reveal()
	}
	return all, nil
}
