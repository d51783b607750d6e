package mapping

import (
	"maps"
	"slices"

	"github.com/expr-lang/expr/types"
)

// The names that expressions know. The compiler adds "$run".
const (
	nameItem   = "item"
	nameID     = "id"
	nameSteps  = "steps"
	nameParams = "params"
	nameRun    = "$run"
)

// scope holds the names that an expression may use.
type scope struct {
	code  string
	names map[string]types.Type
	steps []string // the earlier ones
}

func stepScope(earlier []string) *scope {
	return &scope{code: BadExpression, steps: earlier, names: map[string]types.Type{
		nameItem: types.Any, nameID: types.String, nameSteps: types.Any, nameParams: types.Any,
	}}
}

func filterScope() *scope {
	return &scope{code: BadFilter, names: map[string]types.Type{
		nameID: types.String, "state": types.String, "step": types.String, "code": types.String,
		"message": types.String, "attempts": types.Int, nameItem: types.Any, "output": types.Any,
	}}
}

// known lists the names, sorted.
func (s *scope) known() []string { return slices.Sorted(maps.Keys(s.names)) }

// env returns the scope for the type checker.
func (s *scope) env(compiled bool) types.Map {
	out := types.Map{}
	maps.Copy(out, s.names)
	if compiled {
		out[nameRun] = types.Any
	}
	return out
}
