package dashboard

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestEveryReasonToWaitHasWords(t *testing.T) {
	field, _ := reflect.TypeFor[api.Cause]().FieldByName("Reason")
	for reason := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
		if waitingOn(api.Cause{Reason: reason}) == reason {
			t.Errorf("a page shows the reason %s by its code", reason)
		}
	}
}
