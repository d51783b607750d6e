package block

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawResults(t *rapid.T) []Result {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching(`code_[0-9]`))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Result {
		return Result{
			Item:     uint16(rapid.IntRange(0, Size-1).Draw(t, "item")),
			Step:     rapid.Uint8().Draw(t, "step"),
			Attempts: rapid.Uint8().Draw(t, "attempts"),
			Kind:     Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
			Code:     text.Draw(t, "code"),
			Message:  text.Draw(t, "message"),
			Output:   rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "output"),
		}
	}), 0, 60).Draw(t, "results")
}

// read returns all results in raw.
func read(c *Codec, raw []byte) (rs []Result, err error) {
	err = c.EachResult(raw, func(r Result) error { rs = append(rs, r); return nil })
	return rs, err
}

func sameResult(a, b Result) bool {
	same := bytes.Equal(a.Output, b.Output)
	return same && a.Item == b.Item && a.Step == b.Step && a.Attempts == b.Attempts &&
		a.Kind == b.Kind && a.Code == b.Code && a.Message == b.Message
}

// someTime is the commit time of the results in these tests, and its length in bytes.
const (
	someTime  = 1_800_000_000e9
	timeBytes = 6
)

func TestResultsComeBackInOrder(t *testing.T) {
	c := newTestCodec(t)
	rapid.Check(t, func(t *rapid.T) {
		want := drawResults(t)
		// Sometimes with room to spare, which is used as scratch, sometimes without.
		dst := append(make([]byte, 0, rapid.IntRange(4, 5000).Draw(t, "cap")), "kept"...)
		at := rapid.Int64Range(-1<<62, 1<<62).Draw(t, "at")
		raw := c.SealResults(dst, at, want)
		if !bytes.HasPrefix(raw, []byte("kept")) {
			t.Fatalf("SealResults did not append to dst")
		}
		got, err := read(c, raw[4:])
		if err != nil || len(got) != len(want) {
			t.Fatalf("EachResult gave %d results and error %v, want %d", len(got), err, len(want))
		}
		for i := range want {
			if !sameResult(got[i], want[i]) {
				t.Fatalf("result %d = %+v, want %+v", i, got[i], want[i])
			}
			if got[i].At != at/millisecond*millisecond {
				t.Fatalf("result %d is of %d, want %d to the millisecond", i, got[i].At, at)
			}
		}
	})
}

func TestEveryDamageToResultsIsNoticed(t *testing.T) {
	c := newTestCodec(t)
	failed := func(n int) (rs []Result) {
		for i := range n {
			rs = append(rs, Result{Item: uint16(i), Kind: Failure, Code: "not_found", Message: fmt.Sprintf("no user %d", i)})
		}
		return rs
	}
	for name, n := range map[string]int{"plain": 3, "compressed": 40} {
		t.Run(name, func(t *testing.T) {
			raw := c.SealResults(nil, someTime, failed(n))
			if packed := raw[sealedHeader+timeBytes] == bodyZstd; packed != (name == "compressed") {
				t.Fatalf("%d results compressed: %t", n, packed)
			}
			damage(raw, func(what string, bad []byte) {
				_, err := read(c, bad)
				mustBeCorrupt(t, what, err)
			})
		})
	}
}

func TestForgedResultsAreCorrupt(t *testing.T) {
	c := newTestCodec(t)
	for _, tt := range []struct {
		name string
		body []byte
	}{
		{"nothing", nil},
		{"an unknown way of writing", []byte{9, 0}},
		{"more results than bytes", []byte{bodyPlain, 200, 1}},
		{"an item below the first", []byte{bodyPlain, 1, 1, 0, 0, 0, 0, 0, 0}},
		{"an item beyond the block", []byte{bodyPlain, 1, 0x80, 16, 0, 0, 0, 0, 0, 0}},
		{"an unknown kind", []byte{bodyPlain, 1, 0, 0, 0, byte(kinds), 0, 0, 0}},
		{"a text that was not seen yet", []byte{bodyPlain, 1, 0, 0, 0, 0, 2, 0, 0}},
		{"an output cut off", []byte{bodyPlain, 1, 0, 0, 0, 0, 0, 0, 5, 'a'}},
		{"bytes left over", []byte{bodyPlain, 1, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(c, forged(magicResults, append([]byte{0}, tt.body...)...))
			mustBeCorrupt(t, "EachResult", err)
		})
	}
}

func TestARepeatedTextIsWrittenOnce(t *testing.T) {
	var rs []Result
	for i := range 500 { // more texts than the dictionary keeps without a map
		rs = append(rs, Result{Item: uint16(i), Code: "quota", Message: fmt.Sprintf("too many calls in region %02d", i%20)})
	}
	plain := string(appendResults(nil, rs))
	if n := strings.Count(plain, "quota"); n != 1 {
		t.Errorf("the code is written %d times, want once", n)
	}
	if n := strings.Count(plain, "too many calls"); n != 20 {
		t.Errorf("20 different messages are written %d times, want 20", n)
	}
}

func TestResultsThatDoNotCompressStayPlain(t *testing.T) {
	noise := make([]byte, 1000)
	x := uint64(1)
	for i := range noise {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	c := newTestCodec(t)
	raw := c.SealResults(nil, someTime, []Result{{Output: noise}})
	if len(raw) > 1000+25 {
		t.Errorf("1,000 bytes of noise take %d", len(raw))
	}
	if got, err := read(c, raw); err != nil || !bytes.Equal(got[0].Output, noise) {
		t.Errorf("noise came back changed, error %v", err)
	}
}

func TestEachResultStopsAtTheFirstError(t *testing.T) {
	c := newTestCodec(t)
	raw := c.SealResults(nil, someTime, make([]Result, 5))
	stop, n := errors.New("stop"), 0
	err := c.EachResult(raw, func(Result) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("EachResult = %v after %d results, want %v after 3", err, n, stop)
	}
}
