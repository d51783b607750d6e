package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// trialPage shows one call of a test, as it was sent and answered.
type trialPage struct {
	*sheet
	Result            *api.TrialStep
	Took              string
	Request, Response string
	Items             []itemView
}

// askTestAction makes the form that sends sample items to an action.
func (d *Dashboard) askTestAction(ctx context.Context, v *visit) (*sheet, error) {
	a, err := v.api.Actions().Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &sheet{nav: "Settings", Title: "Test " + a.Name, Up: "/settings/actions", UpName: "Actions", Scope: "submit", Button: "Send the test", Stay: "Back to the actions",
		Text: "Makes one call with these items and shows what was sent and answered. The call is marked as a dry run, so that the endpoint can leave out what it would do.",
		Inputs: []*input{
			{Name: "items", Label: "Items, as JSON or YAML", Kind: "code", Value: "- id: user-42\n  data:\n    amount: 5\n", Needed: true, Hint: "Up to 20, each with its id and its data."},
			{Name: "real", Label: "Not a dry run: the endpoint really does it", Kind: "check"},
		}}, nil
}

func (d *Dashboard) testAction(ctx context.Context, v *visit, s *sheet) (done, error) {
	var items []api.Item
	s.define("items", &items)
	if len(items) == 0 && !s.bad() {
		s.at("items").Fault = "Write at least one item."
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	dry := !s.at("real").Checked()
	result, err := v.api.TestAction(v.once(ctx), v.PathValue("name"), api.ActionTest{Items: items, DryRun: &dry})
	if err != nil {
		return done{}, err
	}
	c := s.content(v)
	page := trialPage{sheet: s, Result: &result, Took: format.Duration(time.Duration(result.Took)),
		Request: pretty(json.RawMessage(result.Request)), Response: pretty(json.RawMessage(result.Response))}
	for i := range result.Items {
		view := viewOf(&result.Items[i])
		view.Sign = triedSign(view.State)
		page.Items = append(page.Items, view)
	}
	c.Page, c.Weir = page, []string{"weir actions test " + quoted(v.PathValue("name"))}
	return done{Show: &pageAgain{"trial", c}}, nil
}

// testConnection tries a connection, and says on the list how that went.
func (d *Dashboard) testConnection(ctx context.Context, v *visit) (done, error) {
	name := v.PathValue("name")
	r, err := v.api.TestConnection(ctx, name, api.ConnectionTest{})
	if err != nil {
		return done{}, err
	}
	n := note{Text: fmt.Sprintf("%s works: connected in %s.", name, format.Duration(time.Duration(r.Took))), Then: r.Detail}
	if !r.OK {
		n = note{Text: name + " does not work.", Then: strings.TrimPrefix(r.Code+": "+r.Detail, ": "), Bad: true}
	}
	return done{To: "/settings/connections", Note: n}, nil
}
