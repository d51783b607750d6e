package partition

import "github.com/weirhq/weir/internal/core/limit"

// The shards of a bulk action share its own bounds: its tasks in flight, and for each step with a
// rate of its own the items that may start within a window of that rate. Each shard has a part of
// each bound, in whole units. This file says who should have how much; see parts.go for how shards
// hear of it, and part.go for how they keep to it.

// all is what a shard wants that uses all of its part, or of which nothing is known.
const all = -1

// bounds returns the bulk action's own bounds: the tasks in flight first, then the items in a
// window of each step. 0: no bound; nil: it has none at all.
func (c *Created) bounds() []int64 {
	if c.Concurrency == 0 && len(c.Rates) == 0 {
		return nil
	}
	list := make([]int64, 1+len(c.Steps))
	list[0] = int64(c.Concurrency)
	for i, name := range c.Steps {
		if rate := c.Rates[name]; rate > 0 {
			list[1+i], _ = limit.PerWindow(rate)
		}
	}
	return list
}

// windowOf returns the window in which a bound counts, in nanoseconds; 0: it does not count in one.
func (c *Created) windowOf(k int) int64 {
	if k == 0 || c.Rates[c.Steps[k-1]] == 0 {
		return 0
	}
	_, w := limit.PerWindow(c.Rates[c.Steps[k-1]])
	return int64(w)
}

// evenParts returns a shard's part of bounds that are divided evenly.
func evenParts(bounds []int64, no, shards int) (part []int64) {
	for _, n := range bounds {
		each := n / int64(shards)
		if int64(no) < n%int64(shards) {
			each++
		}
		part = append(part, each)
	}
	return part
}

// claim is what a shard has of one bound, and what it asks for.
type claim struct {
	part int64 // granted to it
	held int64 // the most that may be in force there: part, or more until it has confirmed a lower one
	want int64 // what it would use; [all]: all that it gets
}

func (c *claim) greedy() bool { return c.want == all }

// share changes the parts of a bound. Nothing is granted that may still be in force elsewhere:
// the sum of all that is held stays within the bound. Parts become smaller only if a shard wants
// much more than it has (lower), or if their sum is above the bound. short reports whether a shard
// should have more than it has now.
func share(bound int64, claims []claim, lower bool) (lowered, short bool) {
	targets := level(bound, claims)
	free, need, granted, much := bound, int64(0), int64(0), false
	for i := range claims {
		c := &claims[i]
		free -= c.held
		granted += c.part
		need += max(0, targets[i]-c.held)
		much = much || targets[i]-c.part >= max(1, targets[i]/8)
	}
	if granted > bound || lower && much && need > free {
		for i := range claims {
			if c := &claims[i]; c.part > targets[i] {
				c.part, lowered = targets[i], true
			}
		}
	}
	for i := range claims {
		c := &claims[i]
		if c.part >= targets[i] {
			continue
		}
		to := c.part
		if free >= 0 { // else more is held than there is, and a part within what its shard holds may be in force elsewhere
			to = min(targets[i], c.held+free)
		}
		if to > c.part {
			free -= max(0, to-c.held)
			c.part, c.held = to, max(c.held, to)
		}
		short = short || c.part < targets[i]
	}
	return lowered, short
}

// level divides a bound: each shard gets what it wants, and those that want more the same. What
// does not divide goes to greedy shards first, and to those that have it already.
func level(bound int64, claims []claim) []int64 {
	targets, open, left := make([]int64, len(claims)), []int{}, bound
	for i := range claims {
		if claims[i].want != 0 {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		each, rest := left/int64(len(open)), open[:0:0]
		for _, i := range open {
			if c := &claims[i]; c.greedy() || c.want > each {
				rest = append(rest, i)
				continue
			}
			targets[i] = claims[i].want
			left -= targets[i]
		}
		if len(rest) == len(open) {
			for _, i := range open {
				targets[i] = each
			}
			oddOnes(claims, targets, open, left-each*int64(len(open)))
			break
		}
		open = rest
	}
	return targets
}

// oddOnes gives one more each to so many of the shards.
func oddOnes(claims []claim, targets []int64, open []int, n int64) {
	for _, has := range [...]func(c *claim, target int64) bool{
		func(c *claim, target int64) bool { return c.greedy() && c.part > target },
		func(c *claim, _ int64) bool { return c.greedy() },
		func(c *claim, target int64) bool { return c.part > target },
		func(*claim, int64) bool { return true },
	} {
		given := map[int]bool{}
		for _, i := range open {
			if n > 0 && has(&claims[i], targets[i]) {
				targets[i]++
				n--
				given[i] = true
			}
		}
		rest := open[:0:0]
		for _, i := range open {
			if !given[i] {
				rest = append(rest, i)
			}
		}
		open = rest
	}
}
