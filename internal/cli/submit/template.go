package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
)

// chooseTemplate refuses flags that a template leaves no room for.
func (o *submitOptions) chooseTemplate() error {
	if o.template != "" {
		o.Spec.Template = o.template
	}
	if o.Spec.Template == "" {
		return nil
	}
	for _, f := range []string{"action", "map", "rate", "canary", "stop-failures", "duplicates"} {
		if o.Flags.Changed(f) {
			return command.BadUsage("leave it out, or name the actions instead of a template", "--%s is set by the template", f)
		}
	}
	return nil
}

// askTemplate finds out how the template reads items and of which types its parameters are.
func (o *submitOptions) askTemplate(ctx context.Context, l *link.Link) error {
	types := map[string]string{}
	if o.Spec.Template != "" && o.resume == "" {
		t, err := l.Templates().Get(ctx, o.Spec.Template)
		if err != nil && !client.IsCode(err, "not_found") { // what is not there is told, with those that are, when it is used
			return err
		}
		o.ID = cmp.Or(o.ID, t.BulkAction.ItemID)
		if err == nil { // the server would refuse them, too, but knows no lines of the file
			o.Duplicates = config.DuplicateRule(strings.ReplaceAll(cmp.Or(t.BulkAction.Duplicates, "refuse"), "_", "-"))
		}
		for _, p := range t.Params {
			types[p.Name] = p.Type
		}
	}
	return o.setParams(types)
}

// setParams puts the parameters over those of the file.
func (o *submitOptions) setParams(types map[string]string) error {
	if len(o.params) == 0 {
		return nil
	}
	all := map[string]json.RawMessage{}
	if len(o.Spec.Params) > 0 {
		if err := json.Unmarshal(o.Spec.Params, &all); err != nil || all == nil {
			return command.BadUsage("write them as in params: {amount: 500}", "%s: params is not an object", o.ChainFile)
		}
	}
	for _, text := range o.params {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return command.BadUsage("write it as in amount=500", "--param: %q has no name", text)
		}
		all[name] = paramValue(types[name], value)
	}
	raw, err := json.Marshal(all)
	o.Spec.Params = raw
	return err
}

// paramValue is what was written, as JSON if it is that: 2026 is a number, unless
// the parameter is a text. All else is a text.
func paramValue(kind, text string) json.RawMessage {
	isText := (kind == "string" || kind == "date") && !strings.HasPrefix(text, `"`)
	if json.Valid([]byte(text)) && !isText {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text) // every text can be
	return raw
}
