package archtest

import (
	"os"
	"path/filepath"
	"testing"
)

// write puts files, given as name and text in turn, into a new directory.
func write(t *testing.T, nameAndText ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(nameAndText); i += 2 {
		name := filepath.Join(root, filepath.FromSlash(nameAndText[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(nameAndText[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNoFileNamesAMachine(t *testing.T) {
	vs, err := CheckMachines(repository(t).Root)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, vs)
}

func TestMachineRuleFindsEveryPlantedName(t *testing.T) {
	for _, bad := range Machines {
		root := write(t, "docs/a.md", "fine\nsee "+bad+"x\n", "testdata/b.txt", bad, "out/c.txt", bad)
		vs, err := CheckMachines(root)
		if err != nil {
			t.Fatal(err)
		}
		mustFind(t, vs, "docs/a.md:2: names a machine or registry: "+bad, "testdata/b.txt:1")
	}
}

func TestMachineRuleReadsNoBinaries(t *testing.T) {
	mustFind(t, CheckMachine("weir", []byte("\x7fELF\x00"+Machines[0])))
}

func TestLinksLeadSomewhere(t *testing.T) {
	vs, err := CheckLinks(repository(t).Root)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, vs)
}

func TestLinkRuleFindsPlantedDeadLinks(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		want []string
	}{
		{"a page beside it", "see [b](b.md)", nil},
		{"a heading of a page", "see [b](b.md#top) and [here](#here)", nil},
		{"a directory", "see [top](..)", nil},
		{"from the top of the repository", "see [b](/docs/b.md)", nil},
		{"another site", "see [x](https://example.test/b) <a href=\"mailto:x@example.test\">", nil},
		{"a page that is not there", "fine\nsee [c](c.md)", []string{"docs/a.md:2: link to a file that is not there: c.md"}},
		{"a picture that is not there", "![c](c.png \"title\")", []string{"c.png"}},
		{"two links in a line, one dead", "[b](b.md), [c](c.md)", []string{"c.md"}},
		{"a link by name", "see [c]\n\n[c]: c.md", []string{"docs/a.md:3"}},
		{"a link in HTML", `<img src="c.svg">`, []string{"c.svg"}},
		{"a way out of the repository", "[up](../../x.md)", []string{"leaves the repository"}},
		{"code is not a link", "`[c](c.md)`\n```\n[c](c.md)\n```\n", nil},
		{"text after code is", "```\ncode\n```\n[c](c.md)", []string{"docs/a.md:4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			vs, err := CheckLinks(write(t, "docs/a.md", tt.text, "docs/b.md", ""))
			if err != nil {
				t.Fatal(err)
			}
			mustFind(t, vs, tt.want...)
		})
	}
}
