package dashboard

import (
	"context"
	"html/template"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// bulkPage is the page of one bulk action.
type bulkPage struct {
	Bulk     api.BulkAction
	Progress api.Progress
	Finished int64
	Share    string
	Ends     string // when it ends, or ended
	Left     string // how long that is from now, or how long it took
	AddsUp   string // empty: it does
	Stack    template.HTML
	Why      string
	WhyMore  string
	Steps    []stepLine
	Errors   []api.ErrorGroup
	Verbs    []verb
	Did      *verb // what was just done
}

// stepLine is one step in the table of steps.
type stepLine struct {
	api.StepProgress
	Number int
	CameIn int64
	Bar    template.HTML
}

func (d *Dashboard) bulkAction(ctx context.Context, v *visit) (content, error) {
	id := v.PathValue("id")
	b, err := v.api.Get(ctx, id)
	if err != nil {
		return content{}, err
	}
	p, err := v.api.Progress(ctx, id)
	if err != nil {
		return content{}, err
	}
	page := bulkPage{Bulk: b, Progress: p, Finished: finished(p.Counts), AddsUp: addsUp(p.Counts), Stack: stack("stack", p.Counts)}
	page.Share = format.Share(page.Finished, p.Counts.Total)
	page.end(v, &b, &p)
	page.why(&p)
	page.Verbs, page.Did = d.verbsOf(p.State), verbNamed(v.URL.Query().Get("did"))
	for i, s := range p.Steps {
		page.Steps = append(page.Steps, lineOf(i, s))
	}
	if p.Counts.Failed > 0 {
		if page.Errors, err = v.api.ErrorGroups(ctx, id); err != nil {
			return content{}, err
		}
	}
	return content{Title: b.Name + ", " + page.Share, Nav: "Bulk actions", Page: page}, nil
}

// end says when the bulk action ends, or ended.
func (page *bulkPage) end(v *visit, b *api.BulkAction, p *api.Progress) {
	switch {
	case !b.FinishedAt.IsZero():
		page.Ends, page.Left = v.clock.Time(b.FinishedAt), "took "+format.Duration(b.FinishedAt.Sub(b.StartedAt))
	case p.ETA > 0:
		page.Ends = v.clock.Time(v.clock.Now.Add(time.Duration(p.ETA)))
		page.Left = "in " + format.Duration(time.Duration(p.ETA))
	}
}

// why says what it waits on: the worst cause as a sentence, and the others after it.
func (page *bulkPage) why(p *api.Progress) {
	for i, c := range p.WaitingOn {
		text := waitingOn(c)
		if c.Detail != "" {
			text += ": " + c.Detail
		}
		if i == 0 {
			page.Why = text
			continue
		}
		page.WhyMore += text + ". "
	}
}

// stack draws the items by state, in the order of all sums.
func stack(class string, c api.Counts) template.HTML {
	return chart.Stack(class, c.Total, chart.Part{Class: "f-done", Count: c.Done}, chart.Part{Class: "f-failed", Count: c.Failed},
		chart.Part{Class: "f-running", Count: c.InFlight}, chart.Part{Class: "f-waiting", Count: c.Waiting},
		chart.Part{Class: "f-ready", Count: c.Ready}, chart.Part{Class: "f-cancelled", Count: c.Cancelled})
}

func lineOf(i int, s api.StepProgress) stepLine {
	l := stepLine{StepProgress: s, Number: i + 1, CameIn: s.Done + s.Failed + s.LeftOut + s.Cancelled + s.Pending}
	l.Bar = chart.Stack("hbar", l.CameIn, chart.Part{Class: "f-done", Count: s.Done}, chart.Part{Class: "f-failed", Count: s.Failed},
		chart.Part{Class: "f-cancelled", Count: s.LeftOut + s.Cancelled}, chart.Part{Class: "f-ready", Count: s.Pending})
	return l
}
