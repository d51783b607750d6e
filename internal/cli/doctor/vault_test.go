package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/pebblestore"
)

// TestTheDoctorMissesTheKeyOfAVault seals a secret in a store, and takes the key away.
func TestTheDoctorMissesTheKeyOfAVault(t *testing.T) {
	c := clitest.Settings(t, nil)
	s, err := pebblestore.Open(filepath.Join(c.Data, "store"), pebblestore.Options{MinFree: -1, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.LoadOrCreate(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := v.Seal("award", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := json.Marshal(v.KeyIDs())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{"vault": ids, "action": []byte(sealed)} {
		if _, err := s.Swap(t.Context(), name, nil, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if f := embeddedCheck(t.Context(), c); f.Level != fine {
		t.Errorf("with its key a vault is %+v", f)
	}
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"gone", func() error { return os.Remove(filepath.Join(c.Data, vault.FileName)) }},
		{"another", func() error { _, err := vault.LoadOrCreate(c.Data); return err }},
	} {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		if f := embeddedCheck(t.Context(), c); f.Level != fail || !strings.Contains(f.What, "encrypted with key") {
			t.Errorf("the doctor finds %+v where the key is %s", f, tt.name)
		}
	}
}
