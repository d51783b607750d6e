package block

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func drawState(t *rapid.T, steps int) State {
	size := rapid.OneOf(rapid.Just(Size), rapid.IntRange(0, Size)).Draw(t, "size")
	s := State{Size: size, Failed: drawSet(t, size), LeftOut: drawSet(t, size)}
	for range steps {
		s.Passed = append(s.Passed, drawSet(t, size))
	}
	if rapid.Bool().Draw(t, "has unclear items") {
		s.Unclear = drawSet(t, size)
	}
	for range rapid.IntRange(0, 4).Draw(t, "retries") {
		s.Retries = append(s.Retries, Retry{
			Step:    uint8(rapid.IntRange(0, steps-1).Draw(t, "step")),
			Attempt: rapid.Uint8().Draw(t, "attempt"),
			Fails:   rapid.Uint8().Draw(t, "fails"),
			Due:     rapid.Int64().Draw(t, "due"),
			Items:   drawSet(t, size),
		})
	}
	return s
}

func TestStateComesBack(t *testing.T) {
	var got State // the same one all along: nothing of earlier states may show
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 16).Draw(t, "steps")
		want := drawState(t, steps)
		raw := want.Append([]byte("kept"))
		if string(raw[:4]) != "kept" {
			t.Fatalf("Append did not append to dst")
		}
		if err := got.Decode(raw[4:], steps); err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if len(got.Retries) == 0 {
			got.Retries = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode = %+v, want %+v", got, want)
		}
		for n := range len(raw) - 4 {
			mustRefuse(t, raw[4:4+n], steps)
		}
		mustRefuse(t, append(raw[4:], 0), steps)
		mustRefuse(t, raw[4:], steps+1)
	})
}

func mustRefuse(t *rapid.T, raw []byte, steps int) {
	var s State
	if err := s.Decode(raw, steps); err == nil {
		t.Fatalf("Decode of %x with %d steps: no error", raw, steps)
	}
}

func TestSizeOfAState(t *testing.T) {
	full := func(n int) (s Set) { s.Fill(n); return s }
	every := func(n int) (s Set) {
		for i := 0; i < Size; i += n {
			s.Add(i)
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		state State
		max   int
	}{
		{"all went well through two steps", State{Size: Size, Passed: []Set{full(Size), full(Size)}}, 8},
		{"the first 700 passed the first step", State{Size: Size, Passed: []Set{full(700), {}}}, 12},
		{"a short block that went well", State{Size: 3, Passed: []Set{full(3), full(3)}}, 7},
		{"every 50th failed", State{Size: Size, Passed: []Set{full(Size), {}}, Failed: every(50)}, 50},
		{"every second failed", State{Size: Size, Passed: []Set{{}}, Failed: every(2)}, 7 + Size/8},
		{"100 wait for a retry", State{
			Size: Size, Passed: []Set{full(100), {}},
			Retries: []Retry{{Attempt: 1, Due: 1_800_000_000_000_000_000, Items: full(100)}},
		}, 28},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := len(tt.state.Append(nil)); got > tt.max {
				t.Errorf("state takes %d bytes, want at most %d", got, tt.max)
			}
		})
	}
}

func TestNoSetTakesMoreThanItsBitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, Size).Draw(t, "size")
		s := drawSet(t, size)
		if got, most := len(s.pack(nil, size)), 1+(size+7)/8; got > most {
			t.Fatalf("%d items of %d take %d bytes, a bitmap takes %d", s.Len(), size, got, most)
		}
	})
}

func TestDecodeRefusesWhatAppendCannotWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		raw  []byte
	}{
		{"nothing", nil},
		{"more items than a block has", []byte{0x81, 8, 1, 0, 0, 0, 0}},
		{"a run beyond the block", []byte{10, 1, 1<<2 | packRuns, 5, 6, 0, 0, 0}},
		{"a bitmap with items beyond the block", []byte{3, 1, packBitmap, 8, 0, 0, 0}},
		{"a full set with a count of runs", []byte{3, 1, 1<<2 | packFull, 0, 0, 0}},
		{"a retry of a step that is not there", []byte{3, 1, 0, 0, 0, 1, 1, 0, 0, 0, packFull}},
		{"unclear items, and none in their set", []byte{3, 1 | withUnclear, 0, 0, 0, 0, 0}},
		{"more retries than bytes", []byte{3, 1, 0, 0, 0, 200, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustBeCorrupt(t, "Decode", new(State).Decode(tt.raw, 1))
		})
	}
}

func TestAppendOfAnImpossibleStatePanics(t *testing.T) {
	beyond := State{Size: 10, Passed: make([]Set, 1)}
	beyond.Passed[0].Add(10)
	for name, s := range map[string]State{
		"an item beyond the block": beyond,
		"a block too large":        {Size: Size + 1},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Append did not panic")
				}
			}()
			s.Append(nil)
		})
	}
}

func TestStateAllocatesNothing(t *testing.T) {
	s := State{Size: Size, Passed: make([]Set, 2), Retries: make([]Retry, 3)}
	s.Passed[0].Fill(500)
	s.Failed.Add(501)
	dst := s.Append(nil)
	var got State
	if err := got.Decode(dst, 2); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	if n := fewestAllocs(func() { dst = s.Append(dst[:0]) }); n > 0 {
		t.Errorf("Append allocates %v times, want 0", n)
	}
	if n := fewestAllocs(func() { _ = got.Decode(dst, 2) }); n > 0 {
		t.Errorf("Decode into a used State allocates %v times, want 0", n)
	}
}
