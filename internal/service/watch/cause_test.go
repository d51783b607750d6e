package watch

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestTheReferenceListsEveryReason(t *testing.T) {
	field, _ := reflect.TypeFor[api.Cause]().FieldByName("Reason")
	words := regexp.MustCompile(`[a-z_]+`).FindAllString(field.Tag.Get("doc"), -1)
	for _, reason := range Reasons() {
		if !slices.Contains(words, reason) {
			t.Errorf("the reference of waiting_on lacks %q", reason)
		}
	}
	enum := strings.Split(field.Tag.Get("enum"), ",")
	all := Reasons()
	slices.Sort(enum)
	slices.Sort(all)
	if !slices.Equal(enum, all) {
		t.Errorf("the enum of waiting_on is %v, want %v", enum, all)
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range Reasons() {
		for _, resource := range []string{"", "fcm"} {
			if text := textOf(api.Cause{Reason: reason, Resource: resource}); text == "" || strings.Contains(text, "_") {
				t.Errorf("the words for %q, resource %q, are %q", reason, resource, text)
			}
		}
	}
}
