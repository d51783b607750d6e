// Package fault counts failures by group: those that have the same step, code
// and, but for what differs from item to item, message.
//
// [AppendNormal] takes numbers, ids and addresses out of a message. [Groups] counts
// the failures of one part of a bulk action in bounded memory, by the space-saving
// algorithm: a message that is new takes the place of the rarest one, so the most
// frequent messages are kept whenever they come. [Merge] adds the counts of parts up.
//
// The package is pure. A Groups belongs to one goroutine.
package fault

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
)

// Most bounds how many groups are shown, and kept how many a part counts separately. Further
// failures count in one group per step, with Other set.
const (
	Most = 100
	kept = 256
)

const (
	maxCode   = 128  // bytes of a code that tell groups apart
	maxSample = 1000 // bytes of a message that are kept as a sample
)

// Group counts all failures at one step with one code and message.
type Group struct {
	Step    int    `json:"step"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"` // without what differs from item to item
	Other   bool   `json:"other,omitempty"`   // failures at the step that have no group of their own
	Count   int64  `json:"count"`             // exact since the group was added
	Missed  int64  `json:"missed,omitempty"`  // upper bound on failures of this group that were counted under Other
	First   int64  `json:"first"`             // time of the first failure, unix nanoseconds; 0: unknown
	Last    int64  `json:"last"`
	Item    int64  `json:"item"`   // lowest position among its items
	Sample  string `json:"sample"` // its message in full
}

// appendKey appends the key that identifies a group.
func appendKey(dst []byte, step int, other bool, code string) []byte {
	dst = binary.AppendUvarint(dst, uint64(step)<<1)
	if other {
		dst[len(dst)-1]++
		return dst
	}
	return append(append(dst, code...), 0)
}

func (g *Group) key() string {
	return string(append(appendKey(nil, g.Step, g.Other, g.Code), g.Message...))
}

// add adds the counts of another group of the same key.
func (g *Group) add(o *Group) {
	if g.First == 0 || o.First != 0 && o.First < g.First {
		g.First = o.First
	}
	if g.Last = max(g.Last, o.Last); g.Count == 0 || o.Item < g.Item {
		g.Item, g.Sample = o.Item, o.Sample
	}
	g.Count += o.Count
	g.Missed += o.Missed
}

// weight returns the largest count that the group can have.
func (g *Group) weight() int64 { return g.Count + g.Missed }

// Groups counts failures. The zero value is empty.
type Groups struct {
	list    []Group
	changed []bool
	index   map[string]int
	key     []byte // reused: a failure of a known group costs no allocation
	text    []byte // the message that came last, if it was short,
	at      int    // and its group
	own     int    // groups without Other
	fixed   bool   // no groups are added: further failures count under Other
}

// Restore rebuilds groups from those that [Groups.Changed] yielded.
func Restore(list []Group) *Groups {
	g := &Groups{}
	for i := range list {
		g.append(list[i].key(), list[i])
	}
	clear(g.changed)
	return g
}

func (g *Groups) append(key string, group Group) int {
	if g.index == nil {
		g.index = map[string]int{}
	}
	if !group.Other {
		g.own++
	}
	g.index[key] = len(g.list)
	g.list = append(g.list, group)
	g.changed = append(g.changed, true)
	return len(g.list) - 1
}

// Add counts a failure of an item: the time, the step and the item's position.
func (g *Groups) Add(now int64, step int, code, message string, item int64) {
	at := g.find(step, Cut(code, maxCode), message)
	x := &g.list[at]
	if x.Count == 0 || item < x.Item {
		x.Item, x.Sample = item, strings.Clone(Cut(message, maxSample))
	}
	if x.First == 0 || now < x.First { // owners' clocks differ
		x.First = now
	}
	x.Last = max(x.Last, now)
	x.Count++
	g.changed[at] = true
}

// find returns the index of a failure's group. It checks the last group first: consecutive
// failures often have the same message.
func (g *Groups) find(step int, code, message string) int {
	if len(message) > 0 && string(g.text) == message {
		if x := &g.list[g.at]; x.Step == step && x.Code == code && !x.Other {
			return g.at
		}
	}
	g.key = appendKey(g.key[:0], step, false, code)
	from := len(g.key)
	g.key = AppendNormal(g.key, message)
	at, known := g.index[string(g.key)]
	if !known {
		at = g.make(step, code, string(g.key[from:]))
	}
	if g.text, g.at = g.text[:0], at; len(message) <= maxSample {
		g.text = append(g.text, message...)
	}
	return at
}

// make adds a group. If all places are taken, it replaces the group with the lowest weight.
func (g *Groups) make(step int, code, message string) int {
	group, key := Group{Step: step, Code: strings.Clone(code), Message: message}, string(g.key)
	if g.fixed {
		return g.other(step)
	}
	if g.own < kept {
		return g.append(key, group)
	}
	at := g.rarest()
	old := g.list[at]
	delete(g.index, old.key())
	group.Missed = old.weight()
	g.others(&old)
	g.list[at], g.changed[at], g.index[key] = group, true, at
	g.text = g.text[:0] // it may have belonged to the replaced group
	return at
}

// rarest returns the group with the lowest weight, the first of several.
func (g *Groups) rarest() int {
	best := -1
	for i := range g.list {
		if x := &g.list[i]; !x.Other && (best < 0 || x.weight() < g.list[best].weight()) {
			best = i
		}
	}
	return best
}

// others adds a group's counts to the Other group of its step.
func (g *Groups) others(old *Group) {
	at := g.other(old.Step)
	old.Missed = 0
	g.list[at].add(old)
	g.changed[at] = true
}

// other returns the Other group of a step, and adds it if it is missing.
func (g *Groups) other(step int) int {
	rest := string(appendKey(nil, step, true, ""))
	if at, known := g.index[rest]; known {
		return at
	}
	return g.append(rest, Group{Step: step, Other: true})
}

// Changed calls yield with every group that changed since the last call, and with the group's
// number, which never changes.
func (g *Groups) Changed(yield func(no int, group *Group)) {
	for i, changed := range g.changed {
		if changed {
			yield(i, &g.list[i])
		}
	}
	clear(g.changed)
}

// List returns the groups in no particular order.
func (g *Groups) List() []Group { return g.list }

// All returns the groups, the largest first.
func (g *Groups) All() []Group { return Merge(g.list) }

// Inexact reports whether a part had more kinds of failures than it counts separately. Counts
// may then be too low, by up to Missed.
func Inexact(parts ...[]Group) bool {
	return slices.ContainsFunc(parts, func(list []Group) bool {
		return slices.ContainsFunc(list, func(g Group) bool { return g.Other })
	})
}

// Recount returns empty groups for all that the parts counted separately. Adding every failure
// again makes their counts exact; failures without a group count under Other.
func Recount(parts ...[]Group) *Groups {
	g := &Groups{}
	for _, list := range parts {
		for i := range list {
			x := &list[i]
			if key := x.key(); !x.Other {
				if _, known := g.index[key]; !known {
					g.append(key, Group{Step: x.Step, Code: x.Code, Message: x.Message})
				}
			}
		}
	}
	g.fixed = true
	return g
}

// Merge adds up the counts of several parts of a bulk action, the largest group first, then by
// code, step and message. If there are more than Most, the smallest count under Other. The
// order of the parts does not matter.
func Merge(parts ...[]Group) []Group {
	sums := map[string]*Group{}
	count := func(x Group) {
		key := x.key()
		if sums[key] == nil {
			sums[key] = &Group{Step: x.Step, Code: x.Code, Message: x.Message, Other: x.Other}
		}
		sums[key].add(&x)
	}
	for _, list := range parts {
		for _, x := range list {
			count(x)
		}
	}
	for _, list := range parts {
		missed(sums, list)
	}
	all := slices.SortedFunc(maps.Values(sums), order)
	own := 0
	for _, x := range all {
		if x.Other {
			continue
		}
		if own++; own > Most {
			delete(sums, x.key())
			count(Group{Step: x.Step, Other: true, Count: x.Count, First: x.First, Last: x.Last, Item: x.Item, Sample: x.Sample})
		}
	}
	var list []Group
	for _, x := range slices.SortedFunc(maps.Values(sums), order) {
		list = append(list, *x)
	}
	return list
}

// missed raises the bound Missed of each group that a part does not list. The part may have
// counted some of its failures under Other, but no more than the part's rarest group has.
func missed(sums map[string]*Group, part []Group) {
	if !Inexact(part) {
		return
	}
	others, has, rarest := map[int]int64{}, map[string]bool{}, int64(math.MaxInt64)
	for i := range part {
		x := &part[i]
		if has[x.key()] = true; x.Other {
			others[x.Step] = x.Count
		} else {
			rarest = min(rarest, x.weight())
		}
	}
	for key, x := range sums { // each is changed alone: the order does not reach the result
		if !x.Other && !has[key] {
			x.Missed += min(rarest, others[x.Step])
		}
	}
}

// order sorts the largest group first.
func order(a, b *Group) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Code, b.Code),
		cmp.Compare(a.Step, b.Step), strings.Compare(a.Message, b.Message))
}
