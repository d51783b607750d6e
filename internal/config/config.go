// Package config reads what a person wrote into options: the file weir.yaml with
// actions and resources, chain files, and spec files of a run.
//
// Reading is strict. An unknown or repeated key, a number without its unit and a
// value out of bounds are errors that name file, line, what was found and what
// to write instead. Value types such as [Duration] and [Rate] have the method
// set of a command-line flag, so that a flag and a line of YAML mean the same.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
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
	URL         string            `yaml:"url"         json:"url,omitempty"`
	SecretFile  string            `yaml:"secret_file" json:"secret_file,omitempty"`
	Header      map[string]string `yaml:"header"      json:"header,omitempty"`
	Batch       Batch             `yaml:"batch"       json:"batch,omitempty"`
	Timeout     Duration          `yaml:"timeout"     json:"timeout,omitempty"`
	Retries     Retries           `yaml:"retries"     json:"retries,omitempty"`
	Rate        Rate              `yaml:"rate"        json:"rate,omitempty"`
	Concurrency Concurrency       `yaml:"concurrency" json:"concurrency,omitempty"`
	Resource    string            `yaml:"resource"    json:"resource,omitempty"`
}

// Resource is the limits of something downstream that several actions share.
type Resource struct {
	Rate        Rate        `yaml:"rate"`
	Concurrency Concurrency `yaml:"concurrency"`
}

// Chain is what is done to each item, in order.
type Chain struct {
	Name  string `yaml:"name"  json:"name,omitempty"`
	Steps []Step `yaml:"steps" json:"steps,omitempty"`
}

// Run is a spec file: the options of weir run.
type Run struct {
	Input        string        `yaml:"input"`
	ID           string        `yaml:"id"`
	Format       string        `yaml:"format"`
	Delimiter    string        `yaml:"delimiter"`
	Encoding     string        `yaml:"encoding"`
	Limit        int           `yaml:"limit"`
	Duplicates   DuplicateRule `yaml:"duplicates"`
	Invalid      InvalidRule   `yaml:"invalid"`
	Actions      []string      `yaml:"actions"`
	Chain        Chain         `yaml:"chain"`
	Name         string        `yaml:"name"`
	Tenant       string        `yaml:"tenant"`
	Tier         Tier          `yaml:"tier"`
	StopFailures Stop          `yaml:"stop_failures"`
	Deadline     Deadline      `yaml:"deadline"`
	Report       string        `yaml:"report"`
	ReportFormat ReportFormat  `yaml:"report_format"`
	SummaryJSON  string        `yaml:"summary_json"`
}

// LoadFile reads a weir.yaml.
func LoadFile(path string) (*File, error) {
	f := &File{}
	if err := load(path, f); err != nil {
		return nil, err
	}
	for name, a := range f.Actions {
		if a.URL == "" {
			return nil, &Error{File: path, Problem: fmt.Sprintf("actions.%s has no url", name), Fix: "write where its batches are sent, as in url: https://push.example.com/batch"}
		}
		if a.Action != "" || a.Name != "" {
			return nil, &Error{File: path, Problem: fmt.Sprintf("actions.%s has a name twice", name), Fix: "remove the keys name and action: the action is called " + name}
		}
		if _, ok := f.Resources[a.Resource]; a.Resource != "" && !ok {
			return nil, &Error{File: path, Problem: fmt.Sprintf("actions.%s uses resource %q, which is not there", name, a.Resource), Fix: "add it under resources, or leave the key out"}
		}
		if a.SecretFile != "" {
			a.SecretFile = beside(path, a.SecretFile)
			f.Actions[name] = a
		}
	}
	return f, nil
}

// LoadChain reads a chain file.
func LoadChain(path string) (*Chain, error) {
	c := &Chain{}
	if err := load(path, c); err != nil {
		return nil, err
	}
	if len(c.Steps) == 0 {
		return nil, &Error{File: path, Problem: "has no steps", Fix: "write at least one, as in steps: [{action: demo.award}]"}
	}
	c.anchor(path)
	return c, nil
}

// LoadRun reads a spec file over r: keys that are not in the file keep their value.
func LoadRun(path string, r *Run) error {
	if err := load(path, r); err != nil {
		return err
	}
	r.Chain.anchor(path)
	for _, p := range []*string{&r.Input, &r.Report, &r.SummaryJSON} {
		if *p != "" && *p != "-" {
			*p = beside(path, *p)
		}
	}
	return nil
}

// anchor makes the paths in a chain relative to its file.
func (c *Chain) anchor(path string) {
	for i := range c.Steps {
		if s := &c.Steps[i]; s.SecretFile != "" {
			s.SecretFile = beside(path, s.SecretFile)
		}
	}
}

// beside is a path as seen from the file that names it.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// load decodes a YAML file strictly into v.
func load(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return &Error{File: path, Problem: "cannot be read", Fix: "check the path and its permissions", Err: errors.Unwrap(err)}
	}
	if i := bytes.IndexByte(raw, '\t'); i >= 0 && len(bytes.TrimLeft(raw[bytes.LastIndexByte(raw[:i], '\n')+1:i], " \t")) == 0 {
		return &Error{File: path, Line: 1 + bytes.Count(raw[:i], []byte("\n")), Problem: "is indented with a tab", Fix: "YAML wants spaces"}
	}
	err = yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(v)
	if errors.Is(err, io.EOF) {
		return &Error{File: path, Problem: "is empty", Fix: "write its content, or do not name it"}
	}
	if err != nil {
		return explain(path, err, v)
	}
	return nil
}

// knownKeys lists the YAML keys of a type and of all types in it.
func knownKeys(t reflect.Type, into []string) []string {
	if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
		return knownKeys(t.Elem(), into)
	}
	if t.Kind() != reflect.Struct {
		return into
	}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			into = append(into, strings.Split(key, ",")[0])
			into = knownKeys(t.Field(i).Type, into)
		}
	}
	return into
}
