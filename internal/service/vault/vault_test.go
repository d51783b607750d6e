package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// open makes a vault that has to be right.
func open(t *testing.T, newest Key, older ...Key) *Vault {
	t.Helper()
	v, err := New(newest, older...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seal(t *testing.T, v *Vault, where, plain string) string {
	t.Helper()
	s, err := v.Seal(where, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const here = "webhook/wh_1/secret"

func TestWhatIsSealedOpensWhereItBelongsAlone(t *testing.T) {
	v := open(t, NewKey())
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		where := rapid.StringN(1, -1, 40).Draw(t, "where")
		other := rapid.String().Draw(t, "other")
		sealed, err := v.Seal(where, plain)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Open(where, sealed); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("Open = %q, %v, want %q", got, err, plain)
		}
		if got, err := v.Open(other, sealed); other != where && !errors.Is(err, ErrBroken) {
			t.Fatalf("Open elsewhere = %q, %v, want ErrBroken", got, err)
		}
	})
}

func TestSealedFormTellsNothing(t *testing.T) {
	v := open(t, NewKey())
	a, b := seal(t, v, here, planted), seal(t, v, here, planted)
	mustHide(t, "the sealed form", a)
	if a == b {
		t.Error("the same secret was sealed alike twice")
	}
	if !IsSealed(a) || IsSealed(planted) || !strings.HasPrefix(a, "sealed1."+v.KeyIDs()[0]+".") {
		t.Errorf("sealed form is %s", a)
	}
	if strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Errorf("sealed form is not printable: %q", a)
	}
}

func TestNoChangedByteOpens(t *testing.T) {
	for _, plain := range []string{planted, planted + "1", planted + "12"} { // ends that fill the last letter more or less
		mustBreak(t, open(t, NewKey()), plain)
	}
}

// mustBreak changes, cuts and extends a sealed text at every place.
func mustBreak(t *testing.T, v *Vault, plain string) {
	t.Helper()
	sealed := seal(t, v, here, plain)
	for i := range len(sealed) {
		for c := range 256 {
			if byte(c) == sealed[i] {
				continue
			}
			changed := sealed[:i] + string([]byte{byte(c)}) + sealed[i+1:]
			if got, err := v.Open(here, changed); err == nil {
				t.Fatalf("byte %d changed to %#x opens as %q", i, c, got)
			}
		}
		for _, cut := range []string{sealed[:i], sealed[i+1:], sealed[:i] + sealed[i+1:], sealed[:i] + "\n" + sealed[i:], sealed[:i] + "A" + sealed[i:]} {
			if got, err := v.Open(here, cut); err == nil && cut != sealed {
				t.Fatalf("%q opens as %q", cut, got)
			}
		}
	}
}

func TestSealNeedsAPlace(t *testing.T) {
	if _, err := open(t, NewKey()).Seal("", []byte("a")); err == nil {
		t.Error("Seal without a place = nil")
	}
}

func TestRotationLeavesNoGap(t *testing.T) {
	old, fresh := NewKey(), NewKey()
	before, during, after := open(t, old), open(t, fresh, old), open(t, fresh)
	sealed := seal(t, before, here, planted)

	again := seal(t, during, here, planted)
	for _, tt := range []struct {
		name   string
		v      *Vault
		sealed string
	}{{"old key alone", before, sealed}, {"both, old form", during, sealed}, {"both, new form", during, again}, {"new key alone", after, again}} {
		if got, err := tt.v.Open(here, tt.sealed); err != nil || string(got) != planted {
			t.Errorf("%s: Open = %q, %v, want %q", tt.name, got, err, planted)
		}
	}
	_, err := after.Open(here, sealed)
	if missing, ok := errors.AsType[*MissingKeyError](err); !ok || missing.KeyID != old.ID() || !slices.Equal(missing.Have, []string{fresh.ID()}) || !strings.Contains(err.Error(), old.ID()) {
		t.Errorf("Open without the old key = %v, want one that names %s", err, old.ID())
	}
}

func TestPurposesHaveKeysOfTheirOwn(t *testing.T) {
	k := NewKey()
	keys := [][]byte{k.derive("seal"), k.derive("id"), NewKey().derive("seal"), []byte(k.secret.Reveal())}
	for i, a := range keys {
		if len(a) != keyBytes {
			t.Errorf("key %d has %d bytes", i, len(a))
		}
		for _, b := range keys[:i] {
			if bytes.Equal(a, b) {
				t.Errorf("key %d is that of another purpose", i)
			}
		}
	}
}

func TestKeyIsReadInEveryForm(t *testing.T) {
	raw := []byte("0123456789abcdef\xff\xfe+/-_ghijklmnop")[:keyBytes]
	want := keyOf(raw).ID()
	std := base64.StdEncoding.EncodeToString(raw)
	for name, text := range map[string]string{
		"raw": string(raw), "hex": hex.EncodeToString(raw), "capital hex": strings.ToUpper(hex.EncodeToString(raw)), "base64": std,
		"base64 without padding": strings.TrimRight(std, "="), "base64 for URLs": base64.URLEncoding.EncodeToString(raw), "with blanks": " " + std + "\r\n",
	} {
		if k, err := ParseKey([]byte(text)); err != nil || k.ID() != want {
			t.Errorf("%s: ParseKey = %s, %v, want %s", name, k.ID(), err, want)
		}
	}
}

func TestBadKeysAreRefusedWithoutRepeatingThem(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "too short": "c2hvcnQ=", "a pass phrase": "correct horse battery staple", "16 bytes in hex": "00112233445566778899aabbccddeeff",
		"33 bytes": hex.EncodeToString(make([]byte, 33)), "all zero": hex.EncodeToString(make([]byte, 32)), "all zero, raw": string(make([]byte, 32)),
	} {
		_, err := ParseKey([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "openssl rand") || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: ParseKey = %v, want an error with a fix", name, err)
		}
	}
	if _, err := New(Key{}); err == nil {
		t.Error("New with an empty key = nil")
	}
}
