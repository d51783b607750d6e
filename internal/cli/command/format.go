package command

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/term"
)

// PrintJSON writes a result for programs.
func PrintJSON(env *Env, v any) error {
	e := json.NewEncoder(env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Outward returns how to write a result to stdout: coloured and as wide as the terminal
// if it goes there, plain and as wide as it is if it goes to a file or a program.
func Outward(env *Env) (p term.Paint, wide int) {
	if f, ok := env.Stdout.(*os.File); env.Terminal == nil || ok && !term.IsTerminal(f) {
		return false, 0
	}
	return term.Paint(!env.NoColour), env.Terminal.Width()
}

// Format is the format of data on stdout.
type Format string

// The formats. JSON is the API's own shape.
const (
	Table  Format = "table"
	JSON   Format = "json"
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
	ID     Format = "id"
)

// Bind adds the flag -o with all formats.
func (o *Format) Bind(fs *pflag.FlagSet) {
	o.bind(fs, "table, json, ndjson, csv or id", Table, JSON, NDJSON, CSV, ID)
}

// BindTableOrJSON adds the flag -o to a command whose result is not a list.
func (o *Format) BindTableOrJSON(fs *pflag.FlagSet) { o.bind(fs, "table or json", Table, JSON) }

func (o *Format) bind(fs *pflag.FlagSet, words string, allowed ...Format) {
	*o = Table
	fs.VarP(formatFlag{o, words, allowed}, "output", "o", words)
}

// formatFlag is the value of the flag -o.
type formatFlag struct {
	to      *Format
	words   string // the formats that the command has, for people
	allowed []Format
}

// Set implements pflag.Value.
func (f formatFlag) Set(s string) error {
	if !slices.Contains(f.allowed, Format(s)) {
		return fmt.Errorf("%q is not a format; use %s", s, f.words)
	}
	*f.to = Format(s)
	return nil
}

// String implements pflag.Value.
func (f formatFlag) String() string {
	if f.to == nil { // pflag asks a zero value for its default
		return ""
	}
	return string(*f.to)
}

// Type implements pflag.Value.
func (formatFlag) Type() string { return "FORMAT" }
