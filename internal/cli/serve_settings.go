package cli

import (
	"cmp"
	"errors"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/config"
)

// serverSettings are the flags for the settings of a server.
type serverSettings struct {
	flags *pflag.FlagSet
	file  string
}

// configVariable names the configuration.
const configVariable = "WEIR_CONFIG"

func (o *serverSettings) bind(fs *pflag.FlagSet) {
	o.flags = fs
	grouped(fs, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.file, "config", "", "`FILE` with settings, actions and resources (default "+config.FileName+", if it exists)")
	})
	for _, s := range config.Settings() {
		grouped(fs, s.Heading, func(fs *pflag.FlagSet) {
			f := fs.VarPF(&setting{kind: s.Type}, s.Flag, "", s.Help)
			f.DefValue = s.Default
			if s.Type == "bool" {
				f.NoOptDefVal = "true"
			}
		})
	}
}

// setting is the value of a flag as it was written: package config reads it.
type setting struct{ word, kind string }

func (s *setting) Set(word string) error { s.word = word; return nil }
func (s *setting) String() string        { return s.word }
func (s *setting) Type() string          { return s.kind }

// path returns the path of the configuration as the user wrote it; empty if there is no file.
func (o *serverSettings) path(env *Env) string {
	if named := cmp.Or(o.file, env.Getenv(configVariable)); named != "" {
		return named
	}
	if exists(env.path(config.FileName)) {
		return config.FileName
	}
	return ""
}

// read puts flags, variables and file together.
func (o *serverSettings) read(env *Env) (*config.Server, error) {
	src := config.Source{Name: o.path(env), Dir: env.Dir, Getenv: env.Getenv, Flags: map[string]string{}}
	src.Path = env.path(src.Name)
	for _, s := range config.Settings() {
		if f := o.flags.Lookup(s.Flag); f.Changed {
			src.Flags[s.Key] = f.Value.String()
		}
	}
	return config.Load(src)
}

// load is read, with all mistakes in the words for a user.
func (o *serverSettings) load(env *Env) (*config.Server, error) {
	c, err := o.read(env)
	if all, ok := errors.AsType[*config.Errors](err); ok {
		return nil, &failure{exitUsage, all.Error(), ""}
	}
	return c, err
}
