package own

import (
	"maps"
	"testing"
	"time"
)

func TestANodeIsSilentWhenItsAnnouncementStaysTheSame(t *testing.T) {
	const lease = 10 * time.Second
	began := time.Unix(1000, 0)
	old, dead, gone := Record{}, Record{Beat: 7}, Record{Beat: 3}
	var h hearing
	h.look(began, map[string]Record{"live": {Beat: 1}, "old": old, "dead": dead, "gone": gone}, lease)
	for _, tt := range []struct {
		after time.Duration
		gone  bool // dead's announcement has ended, too
		want  map[string]bool
	}{
		{250 * time.Millisecond, false, nil},
		{SilentAfter - 1, false, nil},
		{SilentAfter, false, map[string]bool{"dead": true, "gone": true}},
		{lease, true, map[string]bool{"dead": true, "gone": true}},
		{2*lease + 1, true, nil}, // what they held has ended long ago
	} {
		announced := map[string]Record{"live": {Beat: 1 + uint64(tt.after)}, "old": old}
		if !tt.gone {
			announced["dead"] = dead
		}
		h.look(began.Add(tt.after), announced, lease)
		if got := h.silent(); !maps.Equal(got, tt.want) {
			t.Errorf("after %v, silent are %v, want %v", tt.after, got, tt.want)
		}
	}
	h.look(began.Add(3*lease), map[string]Record{"live": {Beat: 1}, "old": old}, lease)
	if got := h.silent(); len(got) != 0 {
		t.Errorf("after a pause of this node silent are %v, want none: all have spoken since", got)
	}
}
