package redisstore

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/weirhq/weir"
)

// Mode says what an acknowledged write survives.
type Mode uint8

const (
	// Disk acknowledges a write once it is on the server's disk: it survives a
	// crash of the server's machine. It needs appendonly yes and appendfsync
	// always. A failover can still lose what the replica had not received.
	Disk Mode = iota
	// Memory acknowledges a write once the server has it: it survives any crash
	// of ours. What a crash of the server costs is up to its settings: up to a
	// second of work with appendfsync everysec, all of it without appendonly.
	Memory
	// Replicated acknowledges a write once it is on the disk of the server and
	// has reached all of its replicas: it survives the loss of any one machine.
	// It needs what Disk needs, and Options.Replicas. A replica that is away stops
	// the work until it is back.
	Replicated
)

// String returns the mode's word, as [store.Store] names it.
func (m Mode) String() string {
	switch m {
	case Memory:
		return "memory"
	case Replicated:
		return "replicated"
	default:
		return "disk"
	}
}

// Options configures [Open].
type Options struct {
	// Addresses, as host:port, are of one server, of some nodes of a Cluster, or
	// of the Sentinels if Primary is given. At least one.
	Addresses []string
	// Primary is the name under which the Sentinels know the server. Default: there are no Sentinels.
	Primary string
	// Username and Password are for the servers. Default: none.
	Username, Password string
	// SentinelUsername and SentinelPassword are for the Sentinels. Default: none.
	SentinelUsername, SentinelPassword string
	// TLS is how to talk to servers and Sentinels. Default: in the clear.
	TLS *tls.Config
	// Stage keeps environments on the same servers apart. Default "prod".
	Stage string
	// Mode is what a write must survive; [Open] refuses servers that give less. Default [Disk].
	Mode Mode
	// Replicas is how many replicas each primary has, for mode [Replicated]: all of
	// them, since any may be promoted. Default 0; at least 1 in that mode, and only there.
	Replicas int
	// Logger takes the store's log. Default [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Stage = cmp.Or(o.Stage, "prod")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

func (o Options) validate() error {
	var bad weir.InputError
	if len(o.Addresses) == 0 {
		bad.Add("missing", "Addresses", "is empty", "give the host:port of a server, of some Cluster nodes, or of the Sentinels")
	}
	for _, r := range o.Stage {
		if r <= ' ' || r >= 0x7f || r == '{' || r == '}' || r == ':' {
			bad.Add("bad_text", "Stage", fmt.Sprintf("%q has %q in it", o.Stage, r), "use letters, digits and dashes")
			break
		}
	}
	if len(o.Stage) > 64 {
		bad.Add("bad_text", "Stage", fmt.Sprintf("has %d bytes", len(o.Stage)), "use at most 64")
	}
	if o.Mode > Replicated {
		bad.Add("out_of_range", "Mode", fmt.Sprintf("%d is no mode", o.Mode), "use redisstore.Disk, Memory or Replicated")
	}
	if (o.Mode == Replicated) != (o.Replicas > 0) {
		bad.Add("out_of_range", "Replicas", fmt.Sprintf("%d in mode %s", o.Replicas, o.Mode), "give the number of replicas of each primary in mode replicated, and 0 in others")
	}
	return bad.OrNil()
}
