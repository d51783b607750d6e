package server

import (
	"testing"

	"github.com/weirhq/weir/internal/cli/config"
)

func TestLimitsAreThoseOfWeirServe(t *testing.T) {
	c, err := config.Load(config.Source{Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	l := c.Limits
	want := Limits{
		Body: int64(l.Body), Memory: int64(l.Memory), Upload: int64(l.Upload), Items: int64(l.ItemCount),
		RequestsPerSecond: l.RequestsPerSecond, Uploads: l.Uploads, Streams: l.Streams, Exports: l.Exports,
	}
	if got := (Limits{}).withDefaults(); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
}
