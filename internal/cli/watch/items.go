package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

// ShowTrial tells how calls went; whole is the same in the API's shape. A call that
// failed is the command's failure, too.
func ShowTrial(l *link.Link, steps []api.TrialStep, whole any) (err error) {
	switch l.Out {
	case command.JSON:
		err = command.PrintJSON(l.Env, whole)
	case command.NDJSON:
		err = command.List(l.Printer, command.View[api.TrialStep]{}, command.Seq(steps), 0)
	case command.CSV, command.ID:
		var all []api.ItemResult
		for i := range steps {
			all = append(all, steps[i].Items...)
		}
		err = command.List(l.Printer, ItemView, command.Seq(all), 0)
	case command.Table:
		for i := range steps {
			printTrial(l, &steps[i], len(steps) > 1)
		}
	}
	if err != nil {
		return err
	}
	return trialVerdict(steps)
}

// printTrial shows a call to people, under the name of its step if there are several.
func printTrial(l *link.Link, s *api.TrialStep, named bool) {
	p, _ := command.Outward(l.Env)
	w := l.Env.Stdout
	if named {
		fmt.Fprintf(w, "%s\n", p.Bold(command.Cell(s.Step)))
	}
	if s.Request != "" {
		fmt.Fprintf(w, "%s\n%s\n", p.Dim("request"), term.TameText(strings.TrimSpace(s.Request), "  "))
	}
	if s.Status != 0 {
		fmt.Fprintf(w, "%s %d in %s\n%s\n", p.Dim("answer"), s.Status, term.Span(time.Duration(s.Took)),
			term.TameText(strings.TrimSpace(s.Response), "  "))
	}
	if s.Error != "" {
		return
	}
	for _, i := range s.Items {
		state := ItemState(p, &i)
		if i.State == "waiting" { // nothing waits after a trial
			state = "would be tried again"
		}
		line := fmt.Sprintf("%s  %s  %s", term.Pad(i.ID, 12), state, strings.TrimSpace(i.Code+" "+i.Message))
		fmt.Fprintln(w, p.Tame(strings.TrimRight(line, " ")))
	}
}

// trialVerdict returns the exit code of a trial.
func trialVerdict(steps []api.TrialStep) error {
	code := command.ExitOK
	for i := range steps {
		if steps[i].Error != "" {
			fix := "look at what the endpoint answered"
			if steps[i].Status == 0 {
				fix = "check the URL of the action " + command.Cell(steps[i].Action) + ", and that its endpoint is up"
			}
			return command.Fail(command.ExitOther, fmt.Sprintf("the call of step %s failed: %s", command.Cell(steps[i].Step),
				steps[i].Error), fix)
		}
		for _, x := range steps[i].Items {
			if x.State != "done" {
				code = command.ExitSomeFailed
			}
		}
	}
	return command.Ended(code)
}

// ItemView shows items.
var ItemView = command.NewView("items", "id", "id, state, step, code, message, attempts, item", "", command.Texts[api.ItemResult]{
	"message": func(x *api.ItemResult) any { return x.Message + x.Reason },
})

// ItemState writes the state of an item in its colour.
func ItemState(p term.Paint, x *api.ItemResult) string {
	switch x.State {
	case "done":
		return p.Green(x.State)
	case "failed":
		return p.Red(x.State)
	case "cancelled":
		return strings.TrimSuffix(p.Yellow(x.State+": "+x.Reason), ": ")
	}
	return x.State
}
