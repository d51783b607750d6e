package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/binary"
	"encoding/hex"

	"github.com/redis/rueidis"
)

//go:embed lua/commit.lua
var commitLua string

//go:embed lua/append.lua
var appendLua string

//go:embed lua/advance.lua
var advanceLua string

//go:embed lua/closeclaims.lua
var closeClaimsLua string

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/renew.lua
var renewLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/scan.lua
var scanLua string

//go:embed lua/announce.lua
var announceLua string

//go:embed lua/announced.lua
var announcedLua string

//go:embed lua/checkin.lua
var checkInLua string

//go:embed lua/incarnation.lua
var incarnationLua string

//go:embed lua/swap.lua
var swapLua string

//go:embed lua/server.lua
var serverLua string

//go:embed lua/books.lua
var booksLua string

//go:embed lua/hold.lua
var holdLua string

//go:embed lua/draw.lua
var drawLua string

//go:embed lua/holdings.lua
var holdingsLua string

//go:embed lua/targets.lua
var targetsLua string

// scripts are sent by their hash, and in full where the server does not know them yet.
type scripts struct {
	commit, append, swap          script // what is waited for, see write
	closeClaims, advance          script
	acquire, renew, release, scan *rueidis.Lua
	announce, announced, checkIn  *rueidis.Lua
	incarnation                   *rueidis.Lua
	quotaScripts
}

// script is a script and its hash.
type script struct{ source, sha string }

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // the name of the script in Redis, not a secret
	return script{source, hex.EncodeToString(sum[:])}
}

func newScripts() scripts {
	return scripts{
		commit:      newScript(commitLua),
		closeClaims: newScript(closeClaimsLua),
		append:      newScript(appendLua),
		advance:     newScript(advanceLua),
		acquire:     rueidis.NewLuaScript(serverLua + acquireLua),
		renew:       rueidis.NewLuaScript(serverLua + renewLua),
		release:     rueidis.NewLuaScript(releaseLua),
		scan:        rueidis.NewLuaScriptReadOnly(scanLua),
		swap:        newScript(swapLua),
		announce:    rueidis.NewLuaScript(announceLua),
		announced:   rueidis.NewLuaScript(announcedLua),
		checkIn:     rueidis.NewLuaScript(checkInLua),
		incarnation: rueidis.NewLuaScript(serverLua + incarnationLua),

		quotaScripts: newQuotaScripts(serverLua),
	}
}

// quotaScripts holds the scripts about limits.
type quotaScripts struct{ hold, draw, holdings, targets *rueidis.Lua }

// newQuotaScripts joins their common parts. A test passes a server part of its own.
func newQuotaScripts(server string) quotaScripts {
	return quotaScripts{
		hold:     rueidis.NewLuaScript(server + booksLua + holdLua),
		draw:     rueidis.NewLuaScript(server + booksLua + drawLua),
		holdings: rueidis.NewLuaScript(server + holdingsLua),
		targets:  rueidis.NewLuaScript(targetsLua),
	}
}

func (s *Store) exec(ctx context.Context, script *rueidis.Lua, keys []string, args ...string) rueidis.RedisResult {
	return script.Exec(ctx, s.client, keys, args)
}

// arguments collects copies of byte strings in one piece of memory. A call that is given up may
// still be in the client's queue, so it must not send the caller's memory.
type arguments struct {
	room []byte
	list []string
}

// newArguments reserves room for n arguments of size bytes together; more would move the
// memory.
func newArguments(n, size int) *arguments {
	return &arguments{room: make([]byte, 0, size), list: make([]string, 0, n)}
}

func (a *arguments) add(b []byte) {
	from := len(a.room)
	a.room = append(a.room, b...)
	a.list = append(a.list, rueidis.BinaryString(a.room[from:len(a.room):len(a.room)]))
}

// addSealed does the same as add with the value's checksum, for which there must be room.
func (a *arguments) addSealed(p place, b []byte) {
	from := len(a.room)
	a.room = binary.BigEndian.AppendUint32(append(a.room, b...), p.sum(b))
	a.list = append(a.list, rueidis.BinaryString(a.room[from:len(a.room):len(a.room)]))
}

func (a *arguments) addString(s string) { a.list = append(a.list, s) }
