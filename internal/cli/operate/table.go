package operate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/term"
)

var laneColumns = []string{"LANE", "READY", "PWQD", "IN/S", "OUT/S", "IN FLIGHT", "WORKERS", "NEED", "USEFUL",
	"WAIT P99", "OLDEST", "ERRORS", "QUOTA", "LAST DECISION"}

// headline is the whole board in one line.
func (b *board) headline(p term.Paint) string {
	workers := 0
	for i := range b.Lanes {
		workers += max(b.Lanes[i].Workers, 0)
	}
	parts := []string{
		term.Plural(int64(b.Partitions), "partition", "partitions"), term.Plural(int64(len(b.Lanes)), "lane", "lanes"),
		term.Plural(int64(len(b.Nodes)), "node", "nodes"), term.Plural(int64(workers), "worker", "workers"), b.mode(p),
	}
	if n := len(b.Scaling.Pins); n > 0 {
		parts = append(parts, p.Yellow(term.Plural(int64(n), "pin", "pins")))
	}
	return "  " + strings.Join(parts, " · ")
}

// mode says who decides.
func (b *board) mode(p term.Paint) string {
	s := &b.Scaling
	text := "scaling by " + s.Policy
	switch {
	case s.Paused != "":
		text = p.Yellow("scaling paused: " + s.Paused)
	case s.Policy == weir.PolicyOff:
		text = p.Yellow("scaling off")
	case s.Policy == "":
		text = "scaling by default settings"
	}
	if s.Shadow != "" {
		text += ", " + s.Shadow + " in the shadow"
	}
	return text
}

// fullNode is the share of CPU or memory in use from which on a node's lanes do not grow.
const fullNode = 0.85

// troubles tells which nodes are full, and which resources are held down and why,
// in the words of the first node that found it.
func (b *board) troubles(p term.Paint) (lines []string) {
	first, also := map[string]string{}, map[string]int{}
	for _, n := range b.Nodes {
		if n.CPU > fullNode || n.Memory > fullNode {
			lines = append(lines, fmt.Sprintf("  %s  CPU %s and memory %s in use: its lanes do not grow.", p.Yellow(n.Name),
				share(n.CPU), share(n.Memory)))
		}
	}
	for _, n := range b.Nodes {
		for _, u := range n.Resources {
			switch {
			case u.Text == "":
			case first[u.Name] == "":
				first[u.Name] = fmt.Sprintf("%s (%s)", u.Text, n.Name)
			default:
				also[u.Name]++
			}
		}
	}
	for _, r := range slices.Sorted(maps.Keys(first)) {
		text := "  " + p.Yellow(r) + "  " + first[r]
		if n := also[r]; n > 0 {
			text += fmt.Sprintf(" (and %s)", term.Plural(int64(n), "more node", "more nodes"))
		}
		lines = append(lines, text)
	}
	return lines
}

// lines is the table, no wider than wide unless that is 0: what was decided then
// stands below its lane.
func (b *board) lines(p term.Paint, wide int) []string {
	rows := [][]string{laneColumns}
	for i := range b.Lanes {
		rows = append(rows, b.Lanes[i].cells(p, b.At))
	}
	last := len(laneColumns) - 1
	widths := make([]int, last)
	widest := 0
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], term.Width(row[i]))
		}
		widest = max(widest, term.Width(row[last]))
	}
	room := 2 * last
	for _, w := range widths {
		room += w
	}
	below := wide > 0 && room+widest > wide
	var lines []string
	for i, row := range rows {
		line := term.Pad(row[0], widths[0])
		for c := 1; c < last; c++ {
			line += "  " + term.PadLeft(row[c], widths[c])
		}
		if !below && row[last] != "" {
			line += "  " + row[last]
		}
		if i == 0 {
			line = p.Bold(line)
		}
		lines = append(lines, strings.TrimRight(line, " "))
		if below && i > 0 && row[last] != "" {
			lines = append(lines, "    "+row[last])
		}
	}
	return lines
}

// cells is a lane's row, as of now.
func (l *laneState) cells(p term.Paint, now time.Time) []string {
	row := []string{p.Bold(l.ID.String())}
	if l.live() {
		row = append(row, term.Number(int64(math.Ceil(l.Tasks(l.Ready)))), term.Figure(l.PWQD), term.Figure(l.In),
			term.Figure(l.Out), term.Number(l.InFlight))
	} else {
		row = append(row, term.Unknown, term.Unknown, term.Unknown, term.Unknown, term.Unknown)
	}
	row = append(row, l.workers(p, now), term.Figure(l.Need), term.Figure(l.Useful))
	if l.live() {
		row = append(row, wait(l.Wait99), wait(l.Oldest), errorShare(p, l.ErrorShare), l.quota(p))
	} else {
		row = append(row, term.Unknown, term.Unknown, term.Unknown, term.Unknown)
	}
	return append(row, l.sentence(p, now))
}

// underWay limits how long a lane may take to apply a decision.
const underWay = 5 * time.Second

// workers returns the current workers, and the decided number while it is being applied.
func (l *laneState) workers(p term.Paint, now time.Time) string {
	text := term.Number(l.Workers)
	if l.Workers < 0 {
		text = term.Unknown // bounded by the slots alone
	}
	if d := l.Decision; d != nil && l.live() && d.To != l.Workers && now.Sub(d.At) < underWay {
		text += " → " + term.Number(d.To)
	}
	if l.Workers == 0 && l.Ready > 0 {
		text = p.Red(text)
	}
	if l.Pin != nil {
		text += p.Yellow(" pin")
	}
	return text
}

// quota returns the share of its rate that the node used on the lane's resource.
func (l *laneState) quota(p term.Paint) string {
	switch {
	case l.Closed:
		return p.Red("closed")
	case l.QuotaUse == 0:
		return term.Unknown
	}
	text := share(l.QuotaUse)
	if l.Strained {
		text = p.Yellow(text + " held")
	}
	return text
}

// sentence is the last decision with its age, and what a shadow would have done.
func (l *laneState) sentence(p term.Paint, now time.Time) string {
	var parts []string
	if d := l.Decision; d != nil {
		parts = append(parts, p.Dim(age(now.Sub(d.At))+" ago:")+" "+d.Text)
	}
	if d := l.Shadow; d != nil {
		parts = append(parts, p.Dim(fmt.Sprintf("(shadow %s: %d)", d.Policy, d.To)))
	}
	return strings.Join(parts, " ")
}

// wait writes a time that tasks wait; the shortest are none.
func wait(d time.Duration) string {
	if d < time.Millisecond {
		return "0"
	}
	return term.Span(d)
}

// share writes a part of 1.
func share(f float64) string { return strconv.FormatFloat(100*f, 'f', 0, 64) + "%" }

// Shares of failed tasks from which on a lane does not grow under strain, and is cut.
const (
	someFail = 0.05
	manyFail = 0.20
)

func errorShare(p term.Paint, f *float64) string {
	switch {
	case f == nil:
		return term.Unknown
	case *f > manyFail:
		return p.Red(share(*f))
	case *f > someFail:
		return p.Yellow(share(*f))
	}
	return share(*f)
}

// age writes how long ago something was.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}
