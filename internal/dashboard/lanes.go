package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// lanePages registers the page of lanes and nodes, and what can be done on it.
func (d *Dashboard) lanePages() {
	d.page("/lanes", "lanes", d.lanes)
	d.form("/lanes/{partition}/{lane}/pin", d.pinLane)
	d.form("/lanes/{partition}/{lane}/unpin", d.unpinLane)
	d.form("/lanes/scaling", d.setScaling)
	d.form("/lanes/pause", d.pauseScaling)
	d.form("/lanes/resume", d.resumeScaling)
}

// lanesPage answers: are there enough workers, what holds them back, and what was decided from which numbers?
type lanesPage struct {
	Says  string
	Stats []stat
	Rows  []laneRow
	All   int  // lanes, with the idle ones
	Idle  bool // idle lanes are shown, too
	// Of is the lane that the rest of the page is about; nil: none was chosen.
	Of        *laneRow
	Decisions []decisionRow
	Pin       pinForm
	Nodes     []nodeRow
	Span      string // over which time Chart is
	Chart     template.HTML
	Finding   string
	Scaling   scalingForm
	Paused    string // why scaling is paused; empty: it is not
	WhyPause  string // the reason that was typed
	Faults    map[string]string
}

// laneRow is one lane in the table.
type laneRow struct {
	api.Lane
	Current              bool
	Now                  string // workers now, and those wanted
	PerWorker, InOut     string
	NeedText, UsefulText string
	Most                 string // workers that the limits can use
	OldestText           string
	Icon, Class, Says    string // the newest decision
}

// nodeRow is one node, with its partitions.
type nodeRow struct {
	api.Node
	Line string
}

// decisionRow is one decision, with the figures that it was made from.
type decisionRow struct {
	api.Decision
	Icon, Class                       string
	Arrivals, Backlog, Took, CPU, Can string
}

func (d *Dashboard) lanes(ctx context.Context, v *visit) (content, error) {
	c, _, err := v.lanesPage(ctx, v.URL.Query().Get("lane"))
	return c, err
}

// lanesPage asks for all lanes and nodes, and for the decisions about one lane, as in p03/send-message.
func (v *visit) lanesPage(ctx context.Context, lane string) (c content, page *lanesPage, err error) {
	page = &lanesPage{Faults: map[string]string{}, Idle: v.URL.Query().Get("idle") != ""}
	c = content{Title: "Lanes", Nav: "Lanes", Page: page, Weir: []string{"weir lanes", "weir scaling"}}
	scale, err := v.api.Scale(ctx)
	if err != nil {
		return c, nil, err
	}
	settings, err := v.api.Scaling(ctx)
	if err != nil {
		return c, nil, err
	}
	page.Scaling, page.Paused, page.All = scalingFormOf(&settings), settings.Paused, len(scale.Lanes)
	for i := range scale.Lanes {
		r := laneOf(v, &scale.Lanes[i])
		r.Current = r.Partition+"/"+r.Lane.Lane == lane
		if page.Idle || r.Current || r.Ready+r.Waiting > 0 || r.InFlight > 0 || r.Pin != nil {
			page.Rows = append(page.Rows, r)
		}
	}
	if at := slices.IndexFunc(page.Rows, func(r laneRow) bool { return r.Current }); at >= 0 {
		page.Of = &page.Rows[at]
		page.Pin = pinForm{Workers: strconv.Itoa(page.Of.Workers), Until: v.clock.Now.In(v.clock.Zone).Add(2 * time.Hour).Format(inForm)}
		if err := page.decide(ctx, v); err != nil {
			return c, nil, err
		}
		c.Weir = append(c.Weir, "weir lanes "+lane)
	}
	if err = page.nodes(ctx, v, &scale); err == nil {
		err = page.draw(ctx, v)
	}
	page.Says = enough(&scale, &settings)
	return c, page, err
}

// enough says whether there are enough workers, and else what holds them back.
func enough(s *api.Scale, set *api.ScalingSettings) string {
	runs := format.Plural(int64(s.Workers), "worker", "workers")
	closed, rate := 0, 0
	for i := range s.Lanes {
		switch l := &s.Lanes[i]; {
		case l.Ready > 0 && l.Cause == "closed":
			closed++
		case l.Ready > 0 && l.Cause == "rate":
			rate++
		}
	}
	switch {
	case set.Paused != "":
		return format.Stop("Scaling is paused: "+set.Paused) + " Every lane keeps the workers that it has."
	case s.DesiredNodes > s.Nodes:
		return fmt.Sprintf("There are not enough nodes: the load needs %d, and %s. More workers would not fit.", s.DesiredNodes,
			format.Plural(int64(s.Nodes), "runs", "run"))
	case s.DesiredWorkers > s.Workers:
		return fmt.Sprintf("More workers are on their way: the load needs %d, and %s run.", s.DesiredWorkers, runs)
	case closed > 0:
		return fmt.Sprintf("There are enough workers. %s wait for a circuit that is open: workers cannot help there.", format.Plural(int64(closed), "lane", "lanes"))
	case rate > 0:
		return fmt.Sprintf("There are enough workers: %s. The rates of resources are used up, and more workers would only wait.", runs)
	}
	return "There are enough workers: " + runs + ", and the load keeps " + format.Count(int64(s.DesiredWorkers)) + " busy."
}

func laneOf(v *visit, l *api.Lane) laneRow {
	r := laneRow{Lane: *l, Now: strconv.Itoa(l.Workers), PerWorker: decimal(l.PWQD), NeedText: decimal(l.Need),
		InOut: fmt.Sprintf("%.0f, %.0f", l.TasksIn, l.TasksOut), UsefulText: "–", OldestText: "–"}
	if l.Useful > 0 {
		r.UsefulText, r.Most = decimal(l.Useful), format.Count(int64(math.Ceil(l.Useful)))
	}
	if l.Ready > 0 { // in coarse steps, so that the page does not change all the time
		if r.OldestText = "<\u00a0100\u00a0ms"; time.Duration(l.Oldest) >= 100*time.Millisecond {
			r.OldestText = format.Duration(time.Duration(l.Oldest).Round(100 * time.Millisecond))
		}
	}
	r.Icon, r.Class, r.Says = "hold", "faint", "No decision yet."
	if d := l.Decision; d != nil {
		r.Icon, r.Class = direction(d)
		r.Says = d.Sentence
		if d.To != l.Workers && !d.Shadow && l.Pin == nil {
			r.Now += " → " + strconv.Itoa(d.To)
		}
	}
	if p := l.Pin; p != nil {
		r.Icon, r.Class = "stopped", "paused"
		r.Says = fmt.Sprintf("Pinned to %s until %s: %s", format.Plural(int64(p.Workers), "worker", "workers"), v.clock.Time(p.Until), p.Reason)
		if p.Workers != l.Workers {
			r.Now += " → " + strconv.Itoa(p.Workers)
		}
	}
	return r
}

// decimal writes a figure with one decimal below 10, and none above.
func decimal(f float64) string {
	if f >= 10 {
		return format.Count(int64(math.Round(f)))
	}
	return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
}

// direction returns the sign of a decision, and its colour.
func direction(d *api.Decision) (icon, class string) {
	switch d.Direction {
	case "up":
		return "up", "running"
	case "down":
		return "dn", "faint"
	}
	return "hold", "faint"
}

// mostDecisions is how many decisions about a lane the page shows.
const mostDecisions = 30

// decide shows the decisions about the lane that was chosen.
func (p *lanesPage) decide(ctx context.Context, v *visit) error {
	list, err := v.api.Decisions(ctx, p.Of.Partition, p.Of.Lane.Lane, mostDecisions)
	for _, d := range list {
		r := decisionRow{Decision: d, Arrivals: decimal(d.Inputs["arrivals"]), Backlog: format.Count(int64(d.Inputs["backlog"])),
			Took: format.Duration(time.Duration(d.Inputs["service_seconds"] * float64(time.Second))), CPU: format.Percent(d.Inputs["cpu"]),
			Can: decimal(d.Inputs["useful"])}
		r.Icon, r.Class = direction(&d)
		p.Decisions = append(p.Decisions, r)
	}
	return err
}

// nodes shows the processes, and the figures of all of them together.
func (p *lanesPage) nodes(ctx context.Context, v *visit, scale *api.Scale) error {
	nodes, err := collect(v.api.Nodes(ctx), 1000)
	if err != nil {
		return err
	}
	parts, err := collect(v.api.Partitions(ctx), 10_000)
	if err != nil {
		return err
	}
	owned, ownerless, slots, flight := map[string][]string{}, 0, 0, 0
	for _, x := range parts {
		if owned[x.Owner] = append(owned[x.Owner], x.Partition); x.Owner == "" {
			ownerless++
		}
	}
	for _, n := range nodes {
		slots, flight = slots+n.Slots, flight+n.InFlight
		line := strings.Join(owned[n.Node][:min(len(owned[n.Node]), 8)], " ")
		if more := len(owned[n.Node]) - 8; more > 0 {
			line += " and " + format.Count(int64(more)) + " more"
		}
		if n.Leader {
			line = strings.TrimSuffix("leads, "+line, ", ")
		}
		p.Nodes = append(p.Nodes, nodeRow{n, line})
	}
	owners := "each has an owner"
	if ownerless > 0 {
		owners = format.Plural(int64(ownerless), "has no owner now", "have no owner now")
	}
	of := "of all nodes"
	if !v.covers(nil) {
		of = "on the resources that your key sees"
	}
	pinned, need := 0, "the load needs no more"
	for i := range scale.Lanes {
		if scale.Lanes[i].Pin != nil {
			pinned++
		}
	}
	if scale.DesiredNodes > scale.Nodes {
		need = "the load needs " + strconv.Itoa(scale.DesiredNodes)
	}
	state := "On"
	if p.Paused != "" {
		state = "Paused"
	}
	p.Stats = []stat{{"Workers", strconv.Itoa(scale.Workers), "", strconv.Itoa(scale.DesiredWorkers) + " needed"},
		{"Calls in flight", strconv.Itoa(flight), "of " + format.Count(int64(slots)) + " slots", of},
		{"Nodes", strconv.Itoa(len(nodes)), "", need}, {"Partitions", strconv.Itoa(len(parts)), "", owners},
		{"Scaling", state, "", format.Plural(int64(pinned), "lane is", "lanes are") + " pinned"}}
	return nil
}

// draw shows the workers of the last hour against those needed.
func (p *lanesPage) draw(ctx context.Context, v *visit) error {
	s, err := v.hour(ctx, "")
	if err != nil || s.Points == 0 {
		return err
	}
	now, _ := last(s.Workers)
	needed, _ := last(s.NeededWorkers)
	p.Finding = fmt.Sprintf("%s, %s needed.", format.Plural(int64(now), "worker", "workers"), decimal(needed))
	from, to := lately(&s.Timeline, s.Workers)
	p.Span = spanned(&s.Timeline, s.Workers)
	drawn := chart.Series{ID: "c-workers", Title: "Workers and need, " + p.Span, Desc: p.Finding, Unit: "Workers", Height: 120, Clock: v.clock,
		From: from, To: to, Points: points(from, &s.Timeline, s.Workers, s.NeededWorkers), Bound: "Needed", Dotted: true}
	p.Chart = drawn.HTML()
	return nil
}
