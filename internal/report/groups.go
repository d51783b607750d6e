package report

import (
	"cmp"
	"slices"
	"strings"
)

// Group is all failures that have the same step, code and, but for details, message.
type Group struct {
	Step    string `json:"step"`
	Code    string `json:"code"`
	Message string `json:"message"` // without numbers, ids, addresses and quoted text
	Count   int    `json:"count"`
	Sample  Sample `json:"sample"`
}

// Sample is one failure of a group in full: that of the smallest item id, so that it does not depend on the order of work.
type Sample struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

// before orders samples.
func (s Sample) before(t Sample) bool {
	return cmp.Or(strings.Compare(s.ID, t.ID), strings.Compare(s.Message, t.Message)) < 0
}

// Grouper counts failures by group, exactly. The zero value is ready. It belongs to one goroutine; count parts of a
// bulk action in a Grouper each and [Grouper.Merge] them.
type Grouper struct {
	groups map[string]*Group
	key    []byte // reused: a failure of a known group costs no allocation
}

// Add counts a row that failed. Rows in other states are ignored.
func (g *Grouper) Add(r Row) {
	if r.State != Failed {
		return
	}
	g.key = append(append(g.key[:0], r.Step...), 0)
	g.key = append(append(g.key, r.Code...), 0)
	from := len(g.key)
	g.key = appendNormal(g.key, r.Message)
	if known, ok := g.groups[string(g.key)]; ok {
		known.Count++
		if s := (Sample{r.ID, r.Message}); s.before(known.Sample) {
			known.Sample = s
		}
		return
	}
	g.put(string(g.key), Group{Step: r.Step, Code: r.Code, Message: string(g.key[from:]), Count: 1, Sample: Sample{r.ID, r.Message}})
}

func (g *Grouper) put(key string, group Group) {
	if g.groups == nil {
		g.groups = make(map[string]*Group)
	}
	group.Step, group.Code = strings.Clone(group.Step), strings.Clone(group.Code)
	g.groups[key] = &group
}

// Merge adds the counts of other. In whatever order parts are merged, the result is the same.
func (g *Grouper) Merge(other *Grouper) {
	for key, o := range other.groups {
		known, ok := g.groups[key]
		if !ok {
			g.put(key, *o)
			continue
		}
		known.Count += o.Count
		if o.Sample.before(known.Sample) {
			known.Sample = o.Sample
		}
	}
}

// Groups lists the groups, the largest first, then by code, step and message.
func (g *Grouper) Groups() []Group {
	all := make([]Group, 0, len(g.groups))
	for _, group := range g.groups {
		all = append(all, *group)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Code, b.Code),
			strings.Compare(a.Step, b.Step), strings.Compare(a.Message, b.Message))
	})
	return all
}
