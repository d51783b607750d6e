package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"

	"github.com/redis/rueidis"
)

//go:embed lua/commit.lua
var commitLua string

//go:embed lua/append.lua
var appendLua string

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/renew.lua
var renewLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/scan.lua
var scanLua string

// scripts are sent by their hash, and whole where the server does not know them yet.
type scripts struct {
	commit, append                script // what is waited for, see write
	acquire, renew, release, scan *rueidis.Lua
}

// script is a script and its hash.
type script struct{ source, sha string }

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // the name by which Redis knows it, no secret
	return script{source, hex.EncodeToString(sum[:])}
}

func newScripts() scripts {
	return scripts{
		commit:  newScript(commitLua),
		append:  newScript(appendLua),
		acquire: rueidis.NewLuaScript(acquireLua),
		renew:   rueidis.NewLuaScript(renewLua),
		release: rueidis.NewLuaScript(releaseLua),
		scan:    rueidis.NewLuaScriptReadOnly(scanLua),
	}
}

func (s *Store) exec(ctx context.Context, script *rueidis.Lua, keys []string, args ...string) rueidis.RedisResult {
	return script.Exec(ctx, s.client, keys, args)
}

// arguments collects copies of byte strings in one piece of memory. A call that
// is given up may still be in the client's queue, so what it sends must not be
// the caller's.
type arguments struct {
	room []byte
	list []string
}

// newArguments makes room for n arguments of size bytes together; more would move the room.
func newArguments(n, size int) *arguments {
	return &arguments{room: make([]byte, 0, size), list: make([]string, 0, n)}
}

func (a *arguments) add(b []byte) {
	from := len(a.room)
	a.room = append(a.room, b...)
	a.list = append(a.list, rueidis.BinaryString(a.room[from:len(a.room):len(a.room)]))
}

func (a *arguments) addString(s string) { a.list = append(a.list, s) }
