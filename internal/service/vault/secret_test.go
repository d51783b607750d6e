package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

const planted = "s3cr3t/Plänted+text"

// mustHide fails if out has the planted text in a form that people search for.
func mustHide(t *testing.T, how, out string) {
	t.Helper()
	for _, form := range []string{
		planted, url.QueryEscape(planted), url.PathEscape(planted), hex.EncodeToString([]byte(planted)), fmt.Sprintf("%X", planted), fmt.Sprintf("%+q", planted),
		base64.StdEncoding.EncodeToString([]byte(planted)), base64.URLEncoding.EncodeToString([]byte(planted)), fmt.Sprint([]byte(planted)), "s3cr3t", "115 51",
	} {
		if strings.Contains(out, form) {
			t.Errorf("%s shows the secret: %s", how, out)
		}
	}
}

func TestNoVerbShowsASecret(t *testing.T) {
	s := NewSecret(planted)
	type hidden struct{ s Secret }
	type deep struct {
		Name string
		in   *hidden
		list []Secret
		by   map[string]Secret
		any  any
	}
	values := map[string]any{
		"value": s, "pointer": &s, "field": hidden{s}, "slice": []Secret{s}, "map": map[string]Secret{"a": s},
		"deep": deep{"a", &hidden{s}, []Secret{s}, map[string]Secret{"k": s}, s}, "error": fmt.Errorf("call: %w %v", errors.New("x"), s),
		"key": keyOf([]byte(planted + planted)[:keyBytes]),
	}
	for name, v := range values {
		for verb := range strings.SplitSeq("vsqxXdobBcUtTpeEfFgGOw", "") {
			for _, flags := range []string{"", "+", "#", "-20", "020", "+#", ".3", " "} {
				mustHide(t, name+" with %"+flags+verb, fmt.Sprintf("%"+flags+verb, v))
			}
		}
		mustHide(t, name+" printed", fmt.Sprint(v)+fmt.Sprintln(v))
	}
	if got := fmt.Sprintf("%v %s %q %+v %#v %d %x", s, s, s, s, s, s, s); got != strings.TrimSpace(strings.Repeat(Shown+" ", 7)) {
		t.Errorf("a secret prints as %s, want %s", got, Shown)
	}
}

func TestNoEncoderShowsASecret(t *testing.T) {
	v := struct {
		Token Secret
		Ptr   *Secret
		By    map[string]Secret
	}{NewSecret(planted), new(NewSecret(planted)), map[string]Secret{"a": NewSecret(planted)}}
	raw, err := json.Marshal(v)
	if err != nil || string(raw) != `{"Token":"[secret]","Ptr":"[secret]","By":{"a":"[secret]"}}` {
		t.Errorf("Marshal = %s, %v", raw, err)
	}
	type document struct{ Token Secret }
	raw, err = xml.Marshal(document{v.Token})
	mustHide(t, "XML", string(raw))
	if err != nil {
		t.Error(err)
	}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"JSON log": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text log": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(handler(&out))
		log.Info("made", slog.Any("token", v.Token), slog.Any("all", v), slog.Group("g", slog.Any("p", v.Ptr)))
		mustHide(t, name, out.String())
		if !strings.Contains(out.String(), Shown) {
			t.Errorf("%s = %s, want %s in it", name, out.String(), Shown)
		}
	}
}

func TestSecretIsReadFromADocument(t *testing.T) {
	var v struct{ Token Secret }
	if err := json.Unmarshal([]byte(`{"Token":"abc"}`), &v); err != nil || v.Token.Reveal() != "abc" {
		t.Errorf("Unmarshal = %v, secret %q, want abc", err, v.Token.Reveal())
	}
	if err := json.Unmarshal([]byte(`{"Token":"[secret]"}`), &v); !errors.Is(err, ErrShown) || v.Token.Reveal() != "abc" {
		t.Errorf("Unmarshal of what was shown = %v, secret %q, want ErrShown and abc", err, v.Token.Reveal())
	}
}

func TestSecretsAreComparedByText(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b Secret
		want bool
	}{
		{"same text", NewSecret("a"), NewSecret("a"), true},
		{"other text", NewSecret("a"), NewSecret("b"), false},
		{"longer text", NewSecret("a"), NewSecret("ab"), false},
		{"nothing", Secret{}, NewSecret(""), true},
	} {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%s: Equal = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFieldWithoutASecretIsLeftOut(t *testing.T) {
	raw, err := json.Marshal(struct {
		None  Secret `json:"none,omitzero"`
		Empty Secret `json:"empty,omitzero"`
		Some  Secret `json:"some,omitzero"`
	}{Secret{}, NewSecret(""), NewSecret(planted)})
	if err != nil || string(raw) != `{"some":"[secret]"}` {
		t.Errorf("Marshal = %s, %v", raw, err)
	}
}
