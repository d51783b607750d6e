package fault

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNormalMessage(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{"", ""},
		{"wallet is closed", "wallet is closed"},
		{"balance 12.50 is below 1,000", "balance <n> is below <n>"},
		{"no answer from 10.0.0.17:8080 after 1.5s", "no answer from <n>:<n> after <n>s"},
		{"user u42 not found", "user u<n> not found"},
		{"at 2026-11-15T14:00:00Z", "at <n>-<n>-<n>T<n>:<n>:<n>Z"},
		{"request 123e4567-e89b-12d3-a456-426614174000 failed", "request <id> failed"},
		{"trace 4f2c9a01bb", "trace <id>"},
		{"bulk action ba_01k9xabcdef01234", "bulk action ba_<id>"},
		{"pointer 0x1f", "pointer <id>"},
		{"facade decade", "facade decade"},
		{`field "amount" has 'bad value' and ` + "`x`", `field "amount" has 'bad value' and ` + "`x`"},
		{`400 Bad Request: {"error":"no such thing"}`, `400 Bad Request: {"error":"no such thing"}`},
		{`http://host/x answered 404 Not Found`, `http://host/x answered 404 Not Found`},
		{`402 Payment Required: {"error":{"code":"card_declined","decline_code":"insufficient_funds","charge":"ch_3MmlLrLkdIwHu7ix0snN0B15"}}`, // Stripe
			`402 Payment Required: {"error":{"code":"card_declined","decline_code":"insufficient_funds","charge":"ch_<id>"}}`},
		{`400 Bad Request: {"code":21211,"message":"The 'To' number +15005550001 is not a valid phone number.","status":400}`, // Twilio
			`400 Bad Request: {"code":<n>,"message":"The 'To' number +<n> is not a valid phone number.","status":400}`},
		{`400 Bad Request: {"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT"}}`, // Firebase
			`400 Bad Request: {"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT"}}`},
		{`{"errors":[{"message":"The from address does not match a verified Sender Identity.","field":"from","help":null}]}`, // SendGrid
			`{"errors":[{"message":"The from address does not match a verified Sender Identity.","field":"from","help":null}]}`},
		{`ThrottlingException: Rate exceeded (Request ID: 8f0c2e8a-1111-2222-3333-444455556666)`, `ThrottlingException: Rate exceeded (Request ID: <id>)`}, // AWS
		{`pq: duplicate key value violates unique constraint "users_pkey"`, `pq: duplicate key value violates unique constraint "users_pkey"`},
		{"don't and can't", "don't and can't"},
		{`an open " quote 7`, `an open " quote <n>`},
		{"cannot reach anna.b+tag@mail.example.com.", "cannot reach <email>."},
		{"user@localhost is not an address", "user@localhost is not an address"},
		{"  many \n\t spaces  ", "many spaces"},
		{"über 3 Größen", "über <n> Größen"},
	} {
		if got := string(AppendNormal(nil, tt.message)); got != tt.want {
			t.Errorf("normal form of %q = %q, want %q", tt.message, got, tt.want)
		}
	}
}

func TestNormalMessageIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Repeat(rapid.String().Draw(t, "message"), rapid.IntRange(1, 2000).Draw(t, "times"))
		got := AppendNormal([]byte("kept"), message)
		if !strings.HasPrefix(string(got), "kept") || len(got) > len("kept")+maxNormal+len("…") {
			t.Fatalf("normal form of %d bytes has %d", len(message), len(got))
		}
		if utf8.ValidString(message[:min(len(message), maxRead)]) && !utf8.Valid(got) {
			t.Fatalf("normal form of %q is %q: a character was cut", message, got)
		}
	})
}
