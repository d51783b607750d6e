package execute

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestEndpointSettingsAreChecked(t *testing.T) {
	const ok = "https://push.example.com/batch"
	long := "whsec_" + strings.Repeat("A", 88) + "AA=="
	for _, tt := range []struct {
		name     string
		endpoint *weir.Endpoint
		field    string // "" for none
		problem  string
	}{
		{"https", &weir.Endpoint{URL: ok}, "", ""},
		{"http with port, path and query", &weir.Endpoint{URL: "http://127.0.0.1:8080/a?b=c"}, "", ""},
		{"IPv6", &weir.Endpoint{URL: "http://[::1]:80/"}, "", ""},
		{"header and secret", &weir.Endpoint{URL: ok, Header: map[string]string{"Authorization": "Bearer x"}, Secret: testSecret}, "", ""},
		{"no endpoint", nil, "url", "has no endpoint"},
		{"empty", &weir.Endpoint{}, "url", "is empty"},
		{"ftp", &weir.Endpoint{URL: "ftp://x/"}, "url", `scheme "ftp"`},
		{"file", &weir.Endpoint{URL: "file:///etc/passwd"}, "url", `scheme "file"`},
		{"no scheme", &weir.Endpoint{URL: "push.example.com/batch"}, "url", `scheme ""`},
		{"no host", &weir.Endpoint{URL: "https:///batch"}, "url", "has no host"},
		{"port alone", &weir.Endpoint{URL: "https://:443/"}, "url", "has no host"},
		{"port 0", &weir.Endpoint{URL: "https://x:0/"}, "url", "port 0"},
		{"port 70000", &weir.Endpoint{URL: "https://x:70000/"}, "url", "port 70000"},
		{"password", &weir.Endpoint{URL: "https://joe:s3cret@x/"}, "url", "user name or password"},
		{"password in a broken URL", &weir.Endpoint{URL: "https://joe:s3cret@x:y z/"}, "url", "is not a URL"},
		{"fragment", &weir.Endpoint{URL: ok + "#top"}, "url", "fragment"},
		{"empty fragment", &weir.Endpoint{URL: ok + "#"}, "url", "fragment"},
		{"too long", &weir.Endpoint{URL: ok + strings.Repeat("x", 2048)}, "url", "bytes"},
		{"control character", &weir.Endpoint{URL: ok + "\n"}, "url", "is not a URL"},
		{"header name", &weir.Endpoint{URL: ok, Header: map[string]string{"X Y": "1"}}, `header."X Y"`, "not a header name"},
		{"header splitting", &weir.Endpoint{URL: ok, Header: map[string]string{"X": "s3cret\r\nHost: y"}}, `header."X"`, "control character"},
		{"own header", &weir.Endpoint{URL: ok, Header: map[string]string{"webhook-id": "1"}}, `header."webhook-id"`, "set by weir"},
		{"secret without prefix", &weir.Endpoint{URL: ok, Secret: "s3cret"}, "secret", "not whsec_"},
		{"secret not base64", &weir.Endpoint{URL: ok, Secret: "whsec_s3cret!"}, "secret", "not whsec_"},
		{"secret too short", &weir.Endpoint{URL: ok, Secret: "whsec_czNjcmV0"}, "secret", "has 6 bytes"},
		{"secret too long", &weir.Endpoint{URL: ok, Secret: long}, "secret", "has 67 bytes"},
		{"secret of spaces", &weir.Endpoint{URL: ok, Secret: "  "}, "secret", "is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := HTTP(weir.Step{Name: "award", Endpoint: tt.endpoint}, HTTPOptions{})
			if tt.field == "" {
				if err != nil {
					t.Errorf("HTTP = %v, want nil", err)
				}
				return
			}
			var field *weir.FieldError
			if !errors.As(err, &field) || field.Field != tt.field || !strings.Contains(field.Problem, tt.problem) || field.Fix == "" {
				t.Fatalf("HTTP = %+v, want field %s, problem %q and a fix", err, tt.field, tt.problem)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error repeats a secret: %v", err)
			}
		})
	}
}
