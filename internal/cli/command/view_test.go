package command

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestAViewReadsFieldsByTheirNames(t *testing.T) {
	v := NewView("bulk actions", "id", "state, items=counts.total, waiting=counts.waiting?, template=template.name, all", "",
		Texts[api.BulkAction]{"all": func(x *api.BulkAction) any { return x.ID + "!" }})
	x := api.BulkAction{ID: "ba_1", State: api.Running, Counts: api.Counts{Total: 1500}}
	for i, want := range []string{"state: running", "items: 1,500", "waiting: ", "template: ", "all: ba_1!"} {
		if got := v.Columns[i].Head + ": " + People(v.Columns[i].Value(&x)); got != want {
			t.Errorf("column %d = %q, want %q", i, got, want)
		}
	}
	if v.ID(&x) != "ba_1" {
		t.Errorf("ID = %q, want ba_1", v.ID(&x))
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `no field "sate"`) {
			t.Errorf("a misspelt field panics with %q, want its name", text)
		}
	}()
	NewView[api.BulkAction]("", "id", "sate", "", nil)
}
