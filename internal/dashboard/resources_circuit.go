package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// outage is a circuit that is not closed, in words.
type outage struct {
	Name, Says, Text string
	ByHand           bool // it was opened by hand: it can follow failures again
	Probe            bool // one call can test the service
}

// circuitVerb is something that a person can do with a circuit.
type circuitVerb struct {
	Name, Button string
	Asks         bool // on a page of its own
	Text         string
	told         string
	command      string
}

var circuitVerbs = []circuitVerb{
	{Name: "open", Button: "Open the circuit", Asks: true, Text: "No call starts, for 10\u00a0min.", command: "open",
		told: "No call starts on %s now. Calls that were running end; items wait and use up no attempt."},
	{Name: "close", Button: "Keep the circuit closed", Asks: true, Text: "Calls start even if they fail, for 10\u00a0min.", command: "close",
		told: "Calls start on %s now, even if they fail."},
	{Name: "free", Button: "Let it follow failures", Text: "It opens when calls fail, and closes when they succeed again.", command: "auto",
		told: "The circuit of %s follows failures again."},
	{Name: "probe", Button: "Test with one call now", command: "probe",
		told: "One call tests %s now. If it succeeds, the circuit closes in steps."},
}

// circuitSign shows the state of a circuit.
func circuitSign(v *visit, r *api.ResourceStatus) sign {
	since := ""
	if r.Outage != nil {
		since = " since " + v.clock.Time(r.Outage.Since)
	}
	switch r.Circuit {
	case "open":
		return sign{"cancelled", "Open" + since, "failed"}
	case "half_open":
		return sign{"approve", "Being tested", "waiting"}
	}
	return sign{"done", "Closed", "done"}
}

// outageOf says since when and why a circuit is not closed, and what follows.
func outageOf(v *visit, r *api.ResourceStatus) outage {
	o := r.Outage
	x := outage{Name: r.Name, ByHand: o.ByHand, Probe: !o.ByHand && r.Circuit == "open"}
	x.Says = fmt.Sprintf("The circuit of %s is open since %s.", r.Name, v.clock.Time(o.Since))
	if r.Circuit == "half_open" {
		x.Says = fmt.Sprintf("%s is being tested: its circuit opened at %s.", r.Name, v.clock.Time(o.Since))
	}
	if o.ByHand {
		x.Text = sentence(r.Reason) + " "
		if !o.Until.IsZero() {
			x.Text += "It ends at " + v.clock.Time(o.Until) + ". "
		}
	} else if o.Calls > 0 {
		x.Text = fmt.Sprintf("%s of %s failed", format.Count(int64(o.Failed)), format.Plural(int64(o.Calls), "call", "calls"))
		if o.Code != "" {
			x.Text += ", the last with " + o.Code
		}
		x.Text = format.Stop(x.Text) + " "
	}
	x.Text += format.Plural(r.Ready, "item is", "items are") + " ready and wait; no attempts are used up."
	if o.Probes > 0 {
		x.Text += fmt.Sprintf(" %s failed since.", format.Plural(int64(o.Probes), "test", "tests"))
	}
	if r.Circuit == "open" && !o.NextProbe.IsZero() {
		x.Text += " Next test at " + v.clock.Seconds(o.NextProbe) + ", with one call"
		if o.Nodes > 1 {
			x.Text += " from each of " + format.Plural(int64(o.Nodes), "node", "nodes")
		}
		x.Text += "."
	}
	return x
}

func circuitVerbOf(v *visit) (*circuitVerb, error) {
	name := v.PathValue("verb")
	i := slices.IndexFunc(circuitVerbs, func(x circuitVerb) bool { return x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: a circuit has no verb %q", errNotNow, name)
	}
	return &circuitVerbs[i], nil
}

// confirmCircuit shows what opening or closing a circuit by hand does.
func (d *Dashboard) confirmCircuit(ctx context.Context, v *visit) (content, error) {
	verb, err := circuitVerbOf(v)
	if err != nil {
		return content{}, err
	}
	q, err := v.askCircuit(ctx, verb)
	if err != nil {
		return content{}, err
	}
	return v.ask(q, "Resources"), nil
}

// byHandFor is how long a circuit stays as a person has set it.
const byHandFor = 10 * time.Minute

// askCircuit makes the question before a circuit is opened or held closed by hand.
func (v *visit) askCircuit(ctx context.Context, verb *circuitVerb) (*question, error) {
	if !verb.Asks {
		return nil, &pageElsewhere{"/resources?of=" + url.QueryEscape(v.PathValue("name"))}
	}
	r, err := v.api.Resources().Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	q := &question{Up: "/resources?of=" + url.QueryEscape(r.Name), UpName: "Resources", Scope: "all:control", Needed: true}
	if verb.Name == "open" {
		q.Title, q.Button, q.Stay = "Open the circuit of "+r.Name+"?", "Open the circuit for "+format.Duration(byHandFor), "Leave it as it is"
		q.Facts = []fact{{"Will wait", format.Items(r.Ready) + " that are ready for " + r.Name + "; no attempts are used up"},
			{"Will finish", format.Plural(int64(r.InFlight), "call", "calls") + " in flight"}}
		q.Text = "No call starts on " + r.Name + ", of any tenant, until " + format.Duration(byHandFor) +
			" have passed or you let the circuit follow failures again. To stop one bulk action alone, pause that one."
		return q, nil
	}
	q.Title, q.Button, q.Stay = "Keep the circuit of "+r.Name+" closed?", "Keep it closed for "+format.Duration(byHandFor), "Let it follow failures"
	q.Facts = []fact{{"Will be called", format.Items(r.Ready) + " that are ready, even if calls fail"},
		{"What can go wrong", "Each call that fails uses up an attempt of its items; items without attempts left fail"}}
	q.Text = "To find out whether the service works again, test it with one call first."
	return q, nil
}

// setCircuit opens, closes, frees or tests a circuit.
func (d *Dashboard) setCircuit(ctx context.Context, v *visit) (done, error) {
	verb, err := circuitVerbOf(v)
	if err != nil {
		return done{}, err
	}
	to, name := api.CircuitChange{Do: verb.Name}, v.PathValue("name")
	if verb.Asks {
		q, err := v.askCircuit(ctx, verb)
		if err == nil {
			err = v.answered(q, "Resources")
		}
		if err != nil {
			return done{}, err
		}
		to.For, to.Reason = api.Duration(byHandFor), strings.TrimSpace(v.FormValue("reason"))
	}
	now, err := v.api.Circuit(ctx, name, to)
	if err != nil {
		return done{}, err
	}
	command := "weir circuit " + quoted(name) + " " + verb.command
	if verb.Asks {
		command += " --for 10m --reason " + quoted(to.Reason)
	}
	then := sentence(now.Note)
	if verb.Asks {
		then = "It ends by itself at " + v.clock.Time(v.clock.Now.Add(byHandFor)) + "."
	}
	return done{To: "/resources?of=" + url.QueryEscape(name), Note: note{Text: fmt.Sprintf(verb.told, name), Then: then, Weir: []string{command}}}, nil
}
