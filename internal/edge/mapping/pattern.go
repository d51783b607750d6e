package mapping

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression with bounded work: RE2, and small.
type pattern struct {
	re   *regexp.Regexp
	size int // instructions, about
}

// newPattern compiles a regular expression. It computes the size first, since counted
// repetitions expand a short text.
func newPattern(text string) (*pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := sizeOf(tree)
	if size > MaxPattern {
		return nil, fmt.Errorf("the regular expression has about %d parts when its repetitions are counted; %d is the most",
			size, MaxPattern)
	}
	re, err := regexp.Compile(text)
	return &pattern{re, size}, err
}

func sizeOf(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 1<<30) // repetitions nest; the product must not overflow
}
