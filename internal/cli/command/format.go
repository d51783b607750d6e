package command

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/term"
)

// TableOrJSON is table or json.
type TableOrJSON string

const (
	AsTable TableOrJSON = "table"
	AsJSON  TableOrJSON = "json"
)

// Bind adds the flag -o.
func (f *TableOrJSON) Bind(fs *pflag.FlagSet) {
	*f = AsTable
	fs.VarP(f, "output", "o", "table or json")
}

// Set implements pflag.Value.
func (f *TableOrJSON) Set(s string) error {
	if *f = TableOrJSON(s); *f != AsTable && *f != AsJSON {
		return fmt.Errorf("%q is not a format; use table or json", s)
	}
	return nil
}

// String implements pflag.Value.
func (f *TableOrJSON) String() string { return string(*f) }

// Type implements pflag.Value.
func (*TableOrJSON) Type() string { return "FORMAT" }

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

// Bind adds the flag -o.
func (o *Format) Bind(fs *pflag.FlagSet) {
	*o = Table
	fs.VarP(o, "output", "o", "table, json, ndjson, csv or id")
}

// Set implements pflag.Value.
func (o *Format) Set(s string) error {
	switch x := Format(s); x {
	case Table, JSON, NDJSON, CSV, ID:
		*o = x
		return nil
	}
	return fmt.Errorf("%q is not a format; use table, json, ndjson, csv or id", s)
}

// String implements pflag.Value.
func (o *Format) String() string { return string(*o) }

// Type implements pflag.Value.
func (*Format) Type() string { return "FORMAT" }
