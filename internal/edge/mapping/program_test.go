package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// anItem has something of every kind, and numbers that no float64 holds.
var anItem = Item{
	ID: "u1",
	Data: []byte(`{"user_id":9007199254740993,"name":"Ann <b>","amount":500,"rate":0.30000000000000004,"huge":12345678901234567890,
		"pi":3.14159265358979323846,"vip":true,"none":null,"tags":["a","vip"],"address":{"city":"Köln","n":1.50},"born":"2001-02-03","weird key":1}`),
	Params: []byte(`{"campaign":"spring","factor":2}`),
	Outputs: func(step string) []byte {
		return map[string][]byte{"award": []byte(`{"reward_id":"r9","serial":18446744073709551615}`), "send-message": []byte(`"sent"`)}[step]
	},
	Done: func(step string) bool { return step != "skipped" },
}

var earlier = []string{"award", "send-message", "skipped"}

func TestInputMapsMembers(t *testing.T) {
	for _, tt := range []struct{ name, expression, want string }{
		{"a path copies", `item.name`, `"Ann <b>"`},
		{"a 64-bit id survives a path", `item.user_id`, `9007199254740993`},
		{"a 64-bit id survives an expression", `[item.user_id][0]`, `9007199254740993`},
		{"64-bit arithmetic is exact", `item.user_id + 2`, `9007199254740995`},
		{"digits beyond 64 bits survive an expression", `[item.huge, item.pi]`, `[12345678901234567890,3.14159265358979323846]`},
		{"a float survives an expression", `[item.rate]`, `[0.30000000000000004]`},
		{"a path keeps even the zeros", `item.address.n`, `1.50`},
		{"the id", `id`, `"u1"`},
		{"a text of the id", `string(item.user_id)`, `"9007199254740993"`},
		{"the output of a step", `'Reward ' + steps.award.output.reward_id`, `"Reward r9"`},
		{"a path into an output", `steps.award.output.serial`, `18446744073709551615`},
		{"a step with a dash", `steps["send-message"].output`, `"sent"`},
		{"a step without an output", `steps.skipped.output`, `null`},
		{"whether a step was done", `[steps.award.done, steps.skipped.done]`, `[true,false]`},
		{"parameters", `params.campaign + ":" + string(params.factor * 2)`, `"spring:4"`},
		{"a path into parameters", `params.factor`, `2`},
		{"a missing member is null", `item.nothing`, `null`},
		{"a missing part is null with ?.", `item.nothing?.city`, `null`},
		{"a default", `item.nothing ?? "none"`, `"none"`},
		{"the first that is there", `coalesce(item.nothing, item.none, item.name)`, `"Ann <b>"`},
		{"a member with a space", `item["weird key"]`, `1`},
		{"the whole document of an item", `len(item)`, `12`},
		{"objects are sorted", `{"z": item.amount, "a": item.address}`, `{"a":{"city":"Köln","n":1.5},"z":500}`},
		{"lists", `filter(item.tags, # != "vip")`, `["a"]`},
		{"loops", `map(item.tags, upper(#)) | join("+")`, `"A+VIP"`},
		{"conditions", `item.vip ? "very" : "not"`, `"very"`},
		{"let", `let n = item.amount; n * n`, `250000`},
		{"a date", `format(date(item.born), "02.01.2006")`, `"03.02.2001"`},
		{"a date as JSON", `date(item.born)`, `"2001-02-03T00:00:00Z"`},
		{"seconds", `unix(date(item.born))`, `981158400`},
		{"a hash is stable", `hash(id)[0:8]`, `"bb82030d"`},
		{"JSON in a text", `toJSON(item.tags)`, `"[\"a\",\"vip\"]"`},
		{"a decimal comma", `float("-1.234,5", ",") + float(" 2,5 ", ",") + float("3", ",")`, `-1229`},
		{"division", `item.amount / 3`, `166.66666666666666`},
		{"split", `split("a,b", ",")`, `["a","b"]`},
		{"replace", `replace(item.name, "Ann", "Bob")`, `"Bob <b>"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Compile(Step{Input: map[string]string{"x": tt.expression}}, earlier)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Input(anItem)
			if want := `{"x":` + tt.want + `}`; err != nil || string(got) != want {
				t.Errorf("%s = %s, %v, want %s", tt.expression, got, err, want)
			}
		})
	}
}

func TestInputHasItsMembersInOrder(t *testing.T) {
	p, err := Compile(Step{Input: map[string]string{"to": "item.user_id", "amount": "item.amount * 2", "ä\"": "true"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Input(anItem)
	if want := `{"amount":1000,"to":9007199254740993,"ä\"":true}`; err != nil || string(got) != want {
		t.Errorf("Input = %s, %v, want %s", got, err, want)
	}
}

func TestWithoutExpressionsAnItemIsLeftAsItIs(t *testing.T) {
	p, err := Compile(Step{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	when, err := p.When(anItem)
	if !when || err != nil {
		t.Errorf("When = %v, %v", when, err)
	}
	if got, err := p.Input(anItem); string(got) != string(anItem.Data) || err != nil {
		t.Errorf("Input = %s, %v", got, err)
	}
	p, _ = Compile(Step{Input: map[string]string{}}, nil)
	if got, err := p.Input(anItem); string(got) != "{}" || err != nil {
		t.Errorf("a mapping without members = %s, %v", got, err)
	}
}

func TestWhen(t *testing.T) {
	for expression, want := range map[string]bool{
		`steps.award.done`:                                    true,
		`steps.skipped.done`:                                  false,
		`item.amount > 100 && item.vip`:                       true,
		`item.address.city matches "^K.ln$"`:                  true,
		`item.nothing matches "x"`:                            false,
		`item.name startsWith "Ann" and not (id in ["u2"])`:   true,
		`any(item.tags, # == "vip")`:                          true,
		`item.user_id == 9007199254740993`:                    true,
		`item.user_id == 9007199254740992`:                    false,
		`date(item.born) < date("2010-01-01T00:00:00+02:00")`: true,
		`steps.award.output.reward_id == "r9"`:                true,
		`item.address == {"city": "Köln", "n": 1.5}`:          true,
	} {
		p, err := Compile(Step{When: expression}, earlier)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got, err := p.When(anItem); got != want || err != nil {
			t.Errorf("%s = %v, %v, want %v", expression, got, err, want)
		}
	}
}

func TestAProgramSaysWhatItNeeds(t *testing.T) {
	p, err := Compile(Step{
		When:  `steps.skipped.done`,
		Input: map[string]string{"a": `steps["send-message"].output`, "b": `steps.award?.output.x + 1`, "c": "item.a"},
	}, earlier)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Needs(), " "); got != "award send-message" {
		t.Errorf("Needs = %s", got)
	}
	if got := strings.Join(p.NeedsDone(), " "); got != "skipped" {
		t.Errorf("NeedsDone = %s", got)
	}
}

func TestBadExpressionsAreExplained(t *testing.T) {
	for _, tt := range []struct{ expression, problem, fix string }{
		{`steps.awrad.output`, "at character 7: steps.awrad: no such earlier step", "did you mean award?"},
		{`'x' + steps["send-mesage"].output`, `at character 12: steps["send-mesage"]: no such earlier step`, "did you mean send-message?"},
		{`steps.award`, "at character 7: steps.award is not a value by itself", "write steps.award.output or steps.award.done"},
		{`steps.award.outptu`, "at character 13: steps.award has only output and done", "write steps.award.output or steps.award.done"},
		{`steps`, "at character 1: steps is not a value by itself", `write it as in steps["send-message"].output`},
		{`steps[id].output`, "at character 6: the name of a step must be written out", `write it as in steps["send-message"].output`},
		{`item.E-Mail`, "at character 8: unknown name Mail", `a name with a hyphen is written as item["E-Mail"]`},
		{`'ä' + item.user.post-code`, "at character 22: unknown name code", `a name with a hyphen is written as item.user["post-code"]`},
		{`item.amount - Mail`, "at character 15: unknown name Mail", "known are"},
		{`itme.name`, "at character 1: unknown name itme", "did you mean item?"},
		{`Spring bonus`, "this is not an expression", "a fixed text needs quotes, as in 'Spring bonus'"},
		{`Spring`, "at character 1: unknown name Spring", "a fixed text needs quotes, as in 'Spring'"},
		{"item.name +\n  itme.name", "in line 2 at character 3: unknown name itme", "did you mean item?"},
		{`uper(item.name)`, "at character 1: unknown function uper", "did you mean upper?"},
		{`now()`, "at character 1: unknown function now", "an expression has no clock"},
		{`repeat("x", 9)`, "at character 1: unknown function repeat", "known are abs, all"},
		{`reduce(item.tags, #acc + #)`, "unknown function reduce", ""},
		{`item.born.Format("x")`, "methods cannot be called", ""},
		{`$env.item`, "at character 1: unknown name $env", ""},
		{`$run`, "at character 1: unknown name $run", ""},
		{`let item = 1; item`, "item has a meaning already", "choose another name"},
		{`item.name matches item.pattern`, "matches needs a pattern that is written out", ""},
		{`item.name matches "a("`, "missing closing )", ""},
		{`map(1..9, #)`, "ranges cannot be used", ""},
		{`item.`, "at character 5: unexpected end of expression", ""},
		{`1 + "a"`, "invalid operation: + (mismatched types int and string)", ""},
		{`upper(1)`, "at character 7: cannot use int as argument (type string) to call upper", ""},
		{`hash()`, "not enough arguments to call hash", ""},
		{`b"x"`, "bytes cannot be used", ""},
		{``, "is empty", ""},
		{strings.Repeat("1+", 3000) + "1", "has 6001 bytes", "4096 is the most"},
		{strings.Repeat("1+", 600) + "1", "exceeds maximum allowed nodes", ""},
	} {
		_, err := Compile(Step{Field: "steps[1]", Input: map[string]string{"text": tt.expression}}, earlier)
		var in *weir.InputError
		if !errors.As(err, &in) || len(in.Fields) != 1 {
			t.Errorf("%.60s: %v", tt.expression, err)
			continue
		}
		if f := in.Fields[0]; f.Code != "bad_expression" || f.Field != "steps[1].input.text" ||
			!strings.Contains(f.Problem, tt.problem) || !strings.HasPrefix(f.Fix, tt.fix) {
			t.Errorf("%.60s: %+v, want %q and %q", tt.expression, f, tt.problem, tt.fix)
		}
	}
}

func TestAllThatIsWrongIsListed(t *testing.T) {
	_, err := Compile(Step{When: "item.amount + ", Input: map[string]string{"a": "x", "b": "1", "": "1"}}, nil)
	var in *weir.InputError
	if !errors.As(err, &in) || len(in.Fields) != 3 {
		t.Errorf("of three faults are listed: %v", err)
	}
	if _, err := Compile(Step{When: `"yes"`}, nil); err == nil || !strings.Contains(err.Error(), "step.when: expected bool, but got string") || !strings.Contains(err.Error(), "write a condition") {
		t.Errorf("a text as a condition: %v", err)
	}
	if _, err := Compile(Step{When: `item.country = 'DE'`}, nil); err == nil || !strings.Contains(err.Error(), "write == to compare") {
		t.Errorf("an assignment as a condition: %v", err)
	}
	if _, err := Compile(Step{When: `steps.a.done`}, nil); err == nil || !strings.Contains(err.Error(), "the first step has no earlier ones") {
		t.Errorf("a first step that asks for another: %v", err)
	}
}

// What has no answer fails its item and nothing else, and says why.
func TestAnItemWithoutAnAnswerFails(t *testing.T) {
	for _, tt := range []struct{ expression, problem string }{
		{`item.nothing.city`, "cannot fetch city of null"},
		{`item.nothing.city + "x"`, "cannot fetch city of null"},
		{`item.name.city`, "not an object"},
		{`'x' + item.nothing`, "+ cannot be used on a text and null: nothing is missing or empty"},
		{`'x' + item.name + item["no thing"]`, "+ cannot be used on a text and null: no thing is missing or empty"},
		{`'x' + item.amount`, "+ cannot be used on a text and a number; make a text of the other one with string(…)"},
		{`item.huge + 1`, "a number of more digits than arithmetic has"},
		{`9223372036854775807 + item.amount`, "larger than 64 bits"},
		{`-9223372036854775807 - item.amount`, "larger than 64 bits"},
		{`9223372036854775807 * item.amount`, "larger than 64 bits"},
		{`item.amount % 0`, "divide by zero"},
		{`item.amount / 0`, "not a number that JSON has"},
		{`date(item.name)`, "is not a date"},
		{`item.tags[7]`, "index out of range"},
		{`upper(item.amount)`, "another kind"},
		{`item.address.city[0:2]`, "cut inside a character"},
		{`join([1])`, "join needs a list of texts"},
	} {
		p, err := Compile(Step{Field: "steps[1]", Input: map[string]string{"x": tt.expression}}, earlier)
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		_, err = p.Input(anItem)
		var f *weir.FieldError
		if !errors.As(err, &f) || f.Code != ExpressionFailed || f.Field != "steps[1].input.x" || !strings.Contains(f.Error(), tt.problem) {
			t.Errorf("%s: %v, want %q", tt.expression, err, tt.problem)
		}
	}
	p, _ := Compile(Step{When: "item.amount"}, nil)
	if _, err := p.When(anItem); err == nil {
		t.Error("a number counts as a condition")
	}
}

func TestDocumentsThatAreNoObjects(t *testing.T) {
	for _, tt := range []struct{ data, expression, want string }{
		{`[1,2]`, `item[1]`, `{"x":2}`},
		{`"text"`, `item + "!"`, `{"x":"text!"}`},
		{``, `item`, `{"x":null}`},
		{`7`, `item`, `{"x":7}`},
		{`7`, `item.a`, ``},
		{`null`, `item?.a`, `{"x":null}`},
		{`{"a":1,"a":2}`, `[item.a]`, `{"x":[2]}`},
		{`{"a":1`, `item.a`, ``},
		{`{"a":1`, `item`, ``},
		{`{"a":1`, `[item]`, ``},
		{`{"a":[}`, `[item.a]`, ``},
		{`{"a":1} 2`, `item.a`, ``},
		{`{"a":1} 2`, `[item]`, ``},
		{`{"a":1} 2`, `item`, ``},
		{`{"a":"\u00e4\n","b":-1.5e3}`, `[item.a, item.b]`, `{"x":["ä\n",-1500]}`},
	} {
		p, err := Compile(Step{Input: map[string]string{"x": tt.expression}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Input(Item{Data: []byte(tt.data)})
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s of %s = %s, %v, want %s", tt.expression, tt.data, got, err, tt.want)
		}
	}
}
