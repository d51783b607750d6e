package dashboard

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestADefinitionThatIsNestedTooDeepIsRefusedBeforeItIsParsed(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":            strings.Repeat("[", 60_000) + strings.Repeat("]", 60_000),
		"braces":              strings.Repeat("{a: ", 60_000),
		"signs of lists":      strings.Repeat("- ", 60_000),
		"signs of keys":       strings.Repeat("? ", 60_000),
		"lists of flows":      "- - - " + strings.Repeat("[ - ", 30_000),
		"an anchor":           "a: &a [x, x]\nb: [*a, *a]\n",
		"more YAML than fits": "a: " + strings.Repeat("x ", mostYAML),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, fault := definedAs(text)
			runtime.ReadMemStats(&after)
			if fault == "" {
				t.Errorf("%.40s… is taken", text)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%.40s… took %d bytes", text, used)
			}
		})
	}
}

func TestDefinitionsAreJSONOrYAML(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,{"b":"[[[["}]}`:       `{"a":[1,{"b":"[[[["}]}`,
		"a:\n  - x & y\n  - R&D [1]\n": `{"a":["x & y","R&D [1]"]}`,
		"cron: \"*/5 * * * *\"":        `{"cron":"*/5 * * * *"}`,
	} {
		raw, fault := definedAs(text)
		if fault != "" || strings.TrimSpace(string(raw)) != want && !sameJSON(t, raw, want) {
			t.Errorf("%s is read as %s (%s), want %s", text, raw, fault, want)
		}
	}
}

func sameJSON(t *testing.T, raw []byte, want string) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	one, _ := json.Marshal(a) // they were JSON
	two, _ := json.Marshal(b)
	return string(one) == string(two)
}

func TestADeepDocumentIsNotShownManyTimesAsLong(t *testing.T) {
	for _, doc := range []string{
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
		strings.Repeat("[", 60) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 60),
		strings.Repeat(`{"a":[`, 400) + strings.Repeat("]}", 400),
	} {
		if shown := pretty(json.RawMessage(doc)); len(shown) > len(doc)+mostIndented {
			t.Errorf("%d bytes are shown with %d", len(doc), len(shown))
		}
	}
	if got, want := pretty(json.RawMessage(`{"a":[1,"x,]"]}`)), "{\n  \"a\": [\n    1,\n    \"x,]\"\n  ]\n}"; got != want {
		t.Errorf("shown as %s, want %s", got, want)
	}
}
