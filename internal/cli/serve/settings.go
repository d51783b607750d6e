package serve

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
)

// Settings are the flags for the settings of a server.
type Settings struct {
	flags *pflag.FlagSet
	bound []string // names of the flags for settings
	file  string
}

// configVariable names the configuration.
const configVariable = "WEIR_CONFIG"

// Bind adds a flag for every setting.
func (o *Settings) Bind(fs *pflag.FlagSet) { o.bind(fs, func(string) bool { return true }) }

// BindStore adds flags for the settings that say where the store is.
func (o *Settings) BindStore(fs *pflag.FlagSet) {
	o.bind(fs, func(key string) bool {
		return key == "data" || key == "stage" || key == "durability" || strings.HasPrefix(key, "redis")
	})
}

// Changed reports whether a flag was set.
func (o *Settings) Changed() bool {
	return o.file != "" || slices.ContainsFunc(o.bound, func(name string) bool { return o.flags.Changed(name) })
}

func (o *Settings) bind(fs *pflag.FlagSet, wanted func(key string) bool) {
	o.flags = fs
	command.Grouped(fs, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.file, "config", "", "`FILE` with settings, actions and resources (default "+config.FileName+", if it exists)")
	})
	for _, s := range config.Settings() {
		if !wanted(s.Key) {
			continue
		}
		o.bound = append(o.bound, s.Flag)
		command.Grouped(fs, s.Heading, func(fs *pflag.FlagSet) {
			f := fs.VarPF(&setting{kind: s.Type, words: s.Words}, s.Flag, "", s.Help)
			f.DefValue = s.Default
			if s.Type == "bool" {
				f.NoOptDefVal = "true"
			}
		})
	}
}

// setting is the value of a flag as it was written: package config reads it.
type setting struct {
	word, kind string
	words      []string // that it may be; nil: any
}

// Set implements pflag.Value.
func (s *setting) Set(word string) error { s.word = word; return nil }

// String implements pflag.Value.
func (s *setting) String() string { return s.word }

// Type implements pflag.Value.
func (s *setting) Type() string { return s.kind }

// Words are those that it may be, for shells.
func (s *setting) Words() []string { return s.words }

// Path returns the path of the configuration as the user wrote it; empty if there is no file.
func (o *Settings) Path(env *command.Env) string {
	if named := cmp.Or(o.file, env.Getenv(configVariable)); named != "" {
		return named
	}
	if command.Exists(env.Path(config.FileName)) {
		return config.FileName
	}
	return ""
}

// Read puts flags, variables and file together.
func (o *Settings) Read(env *command.Env) (*config.Server, error) {
	src := config.Source{Name: o.Path(env), Dir: env.Dir, Getenv: env.Getenv, Flags: map[string]string{}}
	src.Path = env.Path(src.Name)
	for _, s := range config.Settings() {
		if f := o.flags.Lookup(s.Flag); f != nil && slices.Contains(o.bound, s.Flag) && f.Changed {
			src.Flags[s.Key] = f.Value.String()
		}
	}
	return config.Load(src)
}

// Load is Read, with all mistakes as a failure of the command.
func (o *Settings) Load(env *command.Env) (*config.Server, error) {
	c, err := o.Read(env)
	if all, ok := errors.AsType[*config.Errors](err); ok {
		return nil, command.Fail(command.ExitUsage, all.Error(), "")
	}
	return c, err
}
