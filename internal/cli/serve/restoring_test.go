package serve

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/store/pebblestore"
)

// TestADirectoryIsNotOpenedBeforeItsRestoreHasEnded kills a restore, so to say, before it has written anything.
func TestADirectoryIsNotOpenedBeforeItsRestoreHasEnded(t *testing.T) {
	c := &config.Server{Data: t.TempDir()}
	o := pebblestore.Options{MinFree: -1}
	for range 2 { // it died, and runs again
		s, _, err := OpenRestoring(c, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenEmbedded(c, o); err == nil || !strings.Contains(err.Error(), "the restore has not ended") {
			t.Fatalf("opened before the restore has ended: %v", err)
		}
	}
	s, ended, err := OpenRestoring(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ended(); err != nil {
		t.Fatal(err)
	}
	s, err = OpenEmbedded(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
