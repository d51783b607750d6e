package stored_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/testkit/storedtest"
)

func TestTheStoredFormatIsThatOfTheGoldenFile(t *testing.T) {
	storedtest.Check(t, "testdata/stored.txt", map[string]any{"spec": stored.Spec{}, "extra": stored.Extra{}})
}

// fill sets every field below v to a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"a":1}`)
		return
	case *time.Time:
		*x = time.Date(2026, 12, 24, 8, 30, 0, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(t, e)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), e)
	case reflect.String:
		v.SetString(fmt.Sprintf("text of %v", v.Type()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(90 * time.Second))
	default:
		t.Fatalf("no value for %v", v.Type())
	}
}

func TestARequestComesBackWholeButForTheSecret(t *testing.T) {
	var sent api.NewBulkAction
	fill(t, reflect.ValueOf(&sent).Elem())
	spec := stored.Of(&sent)
	kept, err := json.Marshal(&spec)
	if err != nil {
		t.Fatal(err)
	}
	var read stored.Spec
	if err := json.Unmarshal(kept, &read); err != nil {
		t.Fatal(err)
	}
	if read.Callback.Secret != sent.Callback.Secret {
		t.Errorf("the secret is stored as %q, want %q", read.Callback.Secret, sent.Callback.Secret)
	}
	sent.Callback.Secret = "" // never shown
	if got := read.API(); !reflect.DeepEqual(got, sent) {
		t.Errorf("API() = %+v, want %+v", got, sent)
	}
	if got := (&stored.Spec{}).API(); !reflect.DeepEqual(got, api.NewBulkAction{}) {
		t.Errorf("API() of nothing = %+v", got)
	}
}

func TestStepsOfABulkActionFromElsewhereAreNamedByTheEngine(t *testing.T) {
	x, err := stored.ParseExtra(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Step([]string{"award"}, 0); got.Name() != "award" || got.Action != "award" || x.ActionOf("award") != "award" {
		t.Errorf("Step = %+v, ActionOf = %q", got, x.ActionOf("award"))
	}
	x.Steps = []stored.Step{{ID: "notify", Action: "send"}}
	if got := x.Step([]string{"notify"}, 0); got.Action != "send" || x.ActionOf("notify") != "send" {
		t.Errorf("Step = %+v, ActionOf = %q", got, x.ActionOf("notify"))
	}
}

func TestDurationsAndRatesAreStoredAsText(t *testing.T) {
	for text, into := range map[string]any{`"1m30s"`: new(stored.Duration), `"300/s"`: new(stored.Rate), `"unlimited"`: new(stored.Rate)} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(into); string(got) != text || err != nil {
			t.Errorf("%s comes back as %s, %v", text, got, err)
		}
	}
}

// Messages name values as users write them.
func TestValuesInMessagesAreReadable(t *testing.T) {
	if got := fmt.Sprintf("%v at %v", stored.Duration(time.Second), stored.Rate(300)); got != "1s at 300/s" {
		t.Errorf("a message says %q", got)
	}
}
