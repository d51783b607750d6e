package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/docstest"
)

const configPage = "docs/config.md"

func TestThePageListsEverySetting(t *testing.T) {
	var b strings.Builder
	heading := ""
	for _, s := range Settings() {
		if s.Heading != heading {
			heading = s.Heading
			fmt.Fprintf(&b, "\n### %s\n\n| key | flag and variable | default | what |\n|---|---|---|---|\n", heading)
		}
		value := "—"
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `--%s %s`<br>`%s` | %s | %s |\n", s.Key, s.Flag, cell(s.Type), s.Env, value, cell(s.Help))
	}
	docstest.Section(t, configPage, "settings", b.String())
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// What is in maps has no flag and no help: people wrote about it, and have to keep up with the code.
func TestThePageExplainsEveryKeyOfTheFile(t *testing.T) {
	page := docstest.Read(t, configPage)
	for _, part := range []struct {
		heading string
		of      any
		hidden  []string // has no meaning there
	}{
		{"actions", Step{}, []string{"name", "action"}},
		{"resources", Resource{}, nil},
		{"tenants", Tenant{}, nil},
		{"connections", Connection{}, nil},
		{"webhooks", Webhook{}, nil},
	} {
		t.Run(part.heading, func(t *testing.T) {
			want := slices.DeleteFunc(keysOf(reflect.TypeOf(part.of), ""), func(k string) bool { return slices.Contains(part.hidden, k) })
			slices.Sort(want)
			got := explained(page, part.heading)
			if !slices.Equal(got, want) {
				t.Errorf("keys in the table under %q:\n  %v\nkeys of the code:\n  %v", part.heading, got, want)
			}
		})
	}
}

// keysOf lists the keys of a struct and of structs in it.
func keysOf(t reflect.Type, path string) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key := keyOf(&f)
		switch {
		case key == "":
		case f.Type.Kind() == reflect.Struct && textOf(reflect.New(f.Type).Elem()) == nil:
			keys = append(keys, keysOf(f.Type, join(path, key))...)
		default:
			keys = append(keys, join(path, key))
		}
	}
	return keys
}

var firstCell = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|")

// explained lists the keys of the table under a heading, sorted.
func explained(page, heading string) (keys []string) {
	_, rest, _ := strings.Cut(page, "\n### `"+heading+"`\n")
	part, _, _ := strings.Cut(rest, "\n### ")
	for _, m := range firstCell.FindAllStringSubmatch(part, -1) {
		keys = append(keys, m[1])
	}
	slices.Sort(keys)
	return keys
}

func TestTheExampleOfThePageIsRead(t *testing.T) {
	_, rest, _ := strings.Cut(docstest.Read(t, configPage), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	p := newPlace(t)
	for _, name := range []string{"notify.secret", "crm.password"} {
		p.write(t, name, "planted", 0o600)
	}
	s, err := p.load(t, example, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Actions) != 1 || len(s.Resources) != 1 || len(s.Tenants) != 1 || len(s.Connections) != 1 || len(s.Webhooks) != 1 {
		t.Errorf("the example has not one of each: %+v", s)
	}
}
