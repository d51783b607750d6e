package mapping

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// longest is far more than anything may take, on a busy machine and under the race
// detector; what is not bounded takes minutes.
const longest = 10 * time.Second

// large is a document of about 220 KiB with long lists and a long text; in a short
// run a fifth of that.
func large() []byte {
	n := 8_000
	if testing.Short() {
		n /= 5
	}
	return []byte(`{"list":[` + strings.Repeat("1,", 5*n) + `1],"texts":["` + strings.Repeat(`ab","`, n) + `x"],"text":"` +
		strings.Repeat("x", 12*n) + `"}`)
}

// Every expression of a tenant ends soon: it is refused, fails the item, or is cheap.
func TestHostileExpressionsEndSoon(t *testing.T) {
	doubled := func(first, step string, times int) string {
		s := "let a0 = " + first + "; "
		for i := range times {
			s += fmt.Sprintf("let a%d = %s; ", i+1, strings.ReplaceAll(step, "$", fmt.Sprintf("a%d", i)))
		}
		return s
	}
	for name, expression := range map[string]string{
		"brackets":                   strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000),
		"lists in lists":             strings.Repeat("[", 2000) + "1" + strings.Repeat("]", 2000),
		"open brackets":              strings.Repeat("(", 4000),
		"signs":                      strings.Repeat("-", 4000) + "1",
		"conditions":                 strings.Repeat("true ? ", 300) + "1" + strings.Repeat(" : 1", 300),
		"a huge range":               "len(1..1000000000)",
		"a range of the item's":      "len(item.list[0]..1000000000)",
		"loops in loops":             "count(item.list, count(item.list, count(item.list, # > 0) > 0) > 0)",
		"a long loop":                "count(item.list, " + strings.Repeat("# > 0 && ", 150) + "true)",
		"a search in each turn":      "count(item.list, # in item.list)",
		"an equality in each turn":   "count(item.list, item == item)",
		"a text in each turn":        "count(item.list, item.text contains 'y')",
		"a key in each turn":         "count(item.list, item[item.text] == 1)",
		"a pattern in each turn":     `count(item.list, item.text matches "(x+x+)+y")`,
		"capitals in each turn":      "count(item.list, upper(item.text) == 'y')",
		"a hash in each turn":        "count(item.list, hash(item.text) == 'y')",
		"a split in each turn":       "count(item.list, len(split(item.text, '')) > 1)",
		"a sum in each turn":         "count(item.list, sum(item.list) > 1)",
		"a maximum in each turn":     "count(item.list, max(item.list) > 1)",
		"a list in each turn":        "len(map(item.list, [#,#,#,#,#,#,#,#]))",
		"a document in each turn":    "map(item.list, item)",
		"doubled texts":              doubled("item.text", "$ + $", 40) + "a40",
		"doubled small texts":        doubled("'xxxxxxxx'", "$ + $", 40) + "a40",
		"doubled lists":              doubled("[1]", "[$, $]", 40) + "a40",
		"doubled lists as text":      doubled("[1]", "[$, $]", 40) + "string(a40)",
		"doubled lists as JSON":      doubled("[1]", "[$, $]", 40) + "toJSON(a40)",
		"doubled lists compared":     doubled("[1]", "[$, $]", 40) + "a40 == a39",
		"doubled lists' maximum":     doubled("[1]", "[$, $]", 40) + "max(a40)",
		"doubled lists searched":     doubled("[1]", "[$, $]", 40) + "1 in a40",
		"doubled objects":            doubled("{'x': 1}", "{'a': $, 'b': $}", 30) + "a30",
		"doubled replacements":       doubled("item.text", "replace($, 'x', $)", 20) + "a20",
		"doubled joins":              doubled("item.text", "join([$,$,$,$])", 20) + "a20",
		"many references":            "join([" + strings.TrimSuffix(strings.Repeat("item.text,", 400), ",") + "])",
		"catastrophic pattern":       `item.text matches "(x+)+$y|(x*)*z|(x|x|x)*q"`,
		"many patterns":              strings.TrimSuffix(strings.Repeat(`item.text matches "(x+x+)+y" or `, 120), " or "),
		"counted repetitions":        `item.text matches "((x{1,30}){1,30}){1,1}y"`,
		"large counted repetitions":  `item.text matches "(` + strings.Repeat("x?", 1500) + `){1000}"`,
		"nested counted repetitions": `item.text matches "((((x{9}){9}){9}){9}){9}"`,
		"a pattern that is large":    `item.text matches "` + strings.Repeat("(a|b)", 700) + `"`,
		"a large power":              "9 ** 999999999",
		"a long layout":              "format(date('2001-02-03'), item.text)",
		"a long date":                "date(item.text)",
		"a long number":              "int(item.text)",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			p, err := Compile(Step{Input: map[string]string{"x": expression}}, nil)
			if err == nil {
				var out []byte
				if out, err = p.Input(Item{Data: large()}); len(out) > MaxResult+100 {
					t.Errorf("made %d bytes", len(out))
				}
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if took := time.Since(began); took > longest {
				t.Errorf("took %v, and ended with %v", took, err)
			} else {
				t.Logf("%v: %.120v", took.Round(time.Microsecond), err)
			}
		})
	}
}

// What an honest mapping does with a large item is within the budget.
func TestHonestWorkOnLargeItemsIsDone(t *testing.T) {
	for _, expression := range []string{
		`sum(item.list)`, `count(item.list, # > 0)`, `"vip" in item.texts`, `any(item.texts, # == "vip")`,
		`upper(item.text)`, `hash(item)`, `item.text contains "y"`, `len(filter(item.texts, # startsWith "a"))`, `item`,
	} {
		p, err := Compile(Step{Input: map[string]string{"x": expression}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Input(Item{Data: large()}); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func TestAProgramIsUsedByManyAtOnce(t *testing.T) {
	p, err := Compile(Step{
		When:  `any(item.tags, # == "vip") && item.name matches "^A"`,
		Input: map[string]string{"a": `item.user_id`, "b": `let n = item.amount * 2; string(n) + id`, "c": `map(item.tags, upper(#))`},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				it := anItem
				it.ID = fmt.Sprint(i)
				want := fmt.Sprintf(`{"a":9007199254740993,"b":"1000%d","c":["A","VIP"]}`, i)
				when, err := p.When(it)
				got, err2 := p.Input(it)
				if !when || err != nil || err2 != nil || string(got) != want {
					t.Errorf("When = %v, %v; Input = %s, %v, want %s", when, err, got, err2, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
