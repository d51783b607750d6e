package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/service/access"
)

const (
	// completeWithin is how long a shell waits for the names that a server knows.
	completeWithin = 2 * time.Second
	// mostCandidates is how many of them are offered.
	mostCandidates = "200"
)

// kept says where a server lists what a word may name.
type kept struct {
	path string // of the API
	name string // the member to write
	says string // the member that describes it
}

var bulkActions = kept{"/v1/bulk-actions", "id", "name"}

// kinds are the commands with others below them, whose argument ID or NAME is one of a kind.
var kinds = map[string]kept{
	"actions": {"/v1/actions", "name", "url"}, "connections": {"/v1/connections", "name", "kind"}, "keys": {"/v1/keys", "id", "name"},
	"resources": {"/v1/resources", "name", ""}, "schedules": {"/v1/schedules", "id", "name"}, "templates": {"/v1/templates", "name", "title"},
	"tenants": {"/v1/tenants", "name", ""}, "webhooks": {"/v1/webhooks", "id", "url"},
}

// arguments are what the placeholders of all other commands stand for.
var arguments = map[string]kept{"ID": bulkActions, "RESOURCE": kinds["resources"], "LANE": {"/v1/lanes", "lane", ""}}

// flagged are the flags that name something kept.
var flagged = map[string]kept{
	"tenant": kinds["tenants"], "action": kinds["actions"], "template": kinds["templates"], "resource": kinds["resources"], "bulk-action": bulkActions,
	"connection": kinds["connections"],
}

// within are the states in which the verbs of bulk actions do something.
var within = map[string][]api.State{
	"pause": {api.Running}, "resume": {api.Paused, api.Stopped}, "approve": {api.Awaiting}, "retry": {api.Completed, api.Cancelled, api.Stopped},
	"undo": {api.Completed, api.Cancelled}, "start": {api.Draft, api.Sealed, api.Scheduled}, "forecast": {api.Draft, api.Sealed, api.Scheduled},
	"cancel": {api.Draft, api.Importing, api.Sealed, api.Scheduled, api.Running, api.Paused, api.Stopped, api.Awaiting},
}

// wordsOf returns the values of flags that take one of a few.
func wordsOf(c *cobra.Command, f *pflag.Flag) []string {
	if v, few := f.Value.(interface{ Words() []string }); few {
		return v.Words()
	}
	switch f.Name {
	case "state":
		if c.Name() == "list" {
			return textOf(api.States())
		}
		return []string{"ready", "waiting", "done", "failed", "cancelled"}
	case "tier":
		return []string{weir.TierCritical.String(), weir.TierHigh.String(), weir.TierDefault.String(), weir.TierLow.String()}
	case "scope":
		return textOf(access.Scopes())
	}
	return nil
}

func textOf[T ~string](list []T) (all []string) {
	for _, w := range list {
		all = append(all, string(w))
	}
	return all
}

// complete tells a command what its arguments and flags may be, so that shells can offer it.
func complete(env *command.Env, c *cobra.Command) {
	first, rest, _ := strings.Cut(c.Use[len(c.Name()):], "|")
	placeholder := strings.Trim(strings.Fields(first + " -")[0], "[]")
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		at, known := kinds[c.Parent().Name()]
		if !known {
			at, known = arguments[placeholder]
		}
		switch {
		case strings.HasPrefix(placeholder, "FILE"):
			return nil, cobra.ShellCompDirectiveDefault
		case len(args) == 1 && rest != "": // RESOURCE open|close|auto|probe
			_, word, _ := strings.Cut(c.Use, placeholder+" ")
			return strings.Split(word, "|"), cobra.ShellCompDirectiveNoFileComp
		case !known || len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return at.candidates(env, c, begun)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		placeholder, _ := pflag.UnquoteUsage(f)
		if few := wordsOf(c, f); few != nil {
			offer(c, f, cobra.FixedCompletions(few, cobra.ShellCompDirectiveNoFileComp))
		} else if at, known := flagged[f.Name]; known {
			offer(c, f, func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return at.candidates(env, c, begun)
			})
		} else if placeholder != "FILE" && placeholder != "DIR" && placeholder != "" {
			offer(c, f, cobra.NoFileCompletions)
		}
	})
}

func offer(c *cobra.Command, f *pflag.Flag, what cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(f.Name, what); err != nil {
		panic(err) // a flag has one only
	}
}

// candidates asks the server of a command for names that begin with what was typed. Without a server, or if it does not
// answer soon, there are none: a shell cannot show errors.
func (k kept) candidates(env *command.Env, c *cobra.Command, begun string) (list []string, _ cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
	defer cancel()
	at := link.Server{Tries: 1}
	if f := c.Flags().Lookup("server"); f != nil {
		at.URL = f.Value.String()
	}
	l, err := at.Open(env)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer l.Close()
	query := url.Values{"limit": {mostCandidates}}
	if of := within[c.Name()]; k == bulkActions && len(of) > 0 && c.Parent() == c.Root() {
		query.Set("state", strings.Join(textOf(of), ","))
	}
	var page api.Page[map[string]any]
	if err := l.Do(ctx, "GET", k.path+"?"+query.Encode(), nil, &page); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, x := range page.Data {
		name, _ := x[k.name].(string)
		if !strings.HasPrefix(name, begun) || name == "" {
			continue
		}
		if says, _ := x[k.says].(string); says != "" {
			name += "\t" + command.Cell(says)
		}
		list = append(list, name)
	}
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
