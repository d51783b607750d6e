package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMistakesAboutEncryptedVaultKeys(t *testing.T) {
	const at = "  url: https://bao.example.com/v1/transit/decrypt/weir\n  token_file: token\n"
	for _, tt := range []struct {
		name, keys, content string
		want                string // in the error; empty: it is fine
	}{
		{"an encrypted key", "vault:v1:abc\n", "vault_key_file: keys\nvault_transit:\n" + at, ""},
		{"no token", "vault:v1:abc\n", "vault_key_file: keys\nvault_transit:\n  url: https://bao.example.com/x\n", "vault_transit.token_file"},
		{"not a URL", "vault:v1:abc\n", "vault_key_file: keys\nvault_transit:\n  url: bao.example.com\n  token_file: token\n", "not the URL of a transit engine"},
		{"a URL with a password", "vault:v1:abc\n", "vault_key_file: keys\nvault_transit:\n  url: https://me:secret@bao.example.com/x\n  token_file: token\n", "holds a password"},
		{"no keys", "", "vault_transit:\n" + at, "has no effect without encrypted keys"},
		{"a bad line", "vault:v1:abc\nrubbish\n", "vault_key_file: keys\nvault_transit:\n" + at, "line 2: the key is not 32 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			for name, text := range map[string]string{"keys": tt.keys + "# end\n", "token": "s.token\n"} {
				if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := p.load(t, tt.content, nil)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAnEncryptedKeyThatCannotBeDecryptedOpensNoVault(t *testing.T) {
	p := newPlace(t)
	p.env = map[string]string{"WEIR_VAULT_KEY": "vault:v1:abc"}
	s, err := p.load(t, "data: d\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.OpenVault(t.Context()); v != nil || err == nil || !strings.Contains(err.Error(), "vault_transit.url") {
		t.Errorf("OpenVault = %v, %v, want an error that names the setting", v, err)
	}
}
