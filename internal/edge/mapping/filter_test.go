package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestFilters(t *testing.T) {
	row := Row{
		ID: "user-88213", State: "failed", Step: "award", Code: "timeout", Message: "no answer within 5 s", Attempts: 5,
		Item: []byte(`{"country":"DE","amount":12}`), Output: []byte(`{"status":409}`),
	}
	for text, want := range map[string]bool{
		`code == "timeout"`:                         true,
		`code in ["busy", "closed"]`:                false,
		`attempts >= 3 && state == "failed"`:        true,
		`message contains "answer"`:                 true,
		`message matches "within [0-9]+ s$"`:        true,
		`id startsWith "user-9" or step == "award"`: true,
		`item.country == "DE" and item.amount > 20`: false,
		`output.status == 409`:                      true,
		`not (item?.nothing?.deep == 1)`:            true,
	} {
		f, err := CompileFilter("filter", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Match(row); got != want || err != nil {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
	f, err := CompileFilter("filter", `output.status == 1`)
	if err != nil || f.NeedsItem() || !f.NeedsOutput() {
		t.Errorf("the filter needs item %v, output %v, %v", f.NeedsItem(), f.NeedsOutput(), err)
	}
	if got, err := f.Match(Row{}); got || err == nil {
		t.Errorf("an item without an output: %v, %v", got, err)
	}
}

func TestBadFiltersSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		`cod == "timeout"`:                "filter: at character 1: unknown name cod; did you mean code?",
		`code == "timeout" && attempst>2`: "at character 22: unknown name attempst; did you mean attempts?",
		`attempts contains "x"`:           "at character 10: invalid operation: contains (mismatched types int and string)",
		`code =`:                          "filter: at character 6: ",
		`code`:                            "expected bool, but got string",
		`code matches "("`:                "missing closing )",
		`steps.a.done`:                    "unknown name steps",
		``:                                "is empty",
	} {
		_, err := CompileFilter("filter", text)
		var f *weir.FieldError
		if !errors.As(err, &f) || f.Code != BadFilter || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
