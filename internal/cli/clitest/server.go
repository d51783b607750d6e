package clitest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/config"
)

// FreeAddress returns an address on which no process listens at the moment.
func FreeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Settings are the settings of a server in a directory of the test.
func Settings(t *testing.T, flags map[string]string) *config.Server {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "admin.key"), []byte(strings.Repeat("k", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "data": "d", "durability": "memory",
		"log.format": "text"}
	for k, v := range flags {
		all[k] = v
	}
	c, err := config.Load(config.Source{Dir: dir, Getenv: func(string) string { return "" }, Flags: all})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
