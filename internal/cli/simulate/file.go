package simulate

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/lab/model"
)

// loadWorld finds a built-in scenario, or reads a file.
func loadWorld(env *command.Env, name string) (model.World, error) {
	if w, ok := model.ByName(name); ok {
		return w, nil
	}
	raw, err := os.ReadFile(env.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		fix := "the scenarios are " + scenarioNames()
		if meant := near.Word(name, strings.Split(scenarioNames(), ", ")); meant != "" {
			fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
		}
		return model.World{}, command.BadUsage(fix, "%q is neither a scenario nor a file", name)
	}
	if err != nil {
		return model.World{}, &config.Error{File: name, Problem: "cannot be read", Fix: "check the path and its permissions",
			Err: errors.Unwrap(err)}
	}
	var w model.World
	if err := config.Decode(name, raw, &w); err != nil {
		return w, err
	}
	if err := w.Validate(); err != nil {
		return w, command.BadUsage("", "%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n"+name+": "))
	}
	return w, nil
}
