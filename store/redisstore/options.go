package redisstore

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/weirhq/weir"
)

// Mode is what an acknowledged write survives.
type Mode uint8

const (
	// Disk acknowledges a write once it is on the server's disk: it survives a
	// crash of the server's machine. It needs appendonly yes and appendfsync
	// always. A failover can still lose what the replica had not received.
	Disk Mode = iota
	// Memory acknowledges a write once the server has it: it survives any crash of weir. What a
	// crash of the server costs depends on its settings: up to a second of work with
	// appendfsync everysec, all of it without appendonly.
	Memory
	// Replicated acknowledges a write once it is on the disk of the server and
	// has reached all of its replicas, and their disks from version 7.2 on: it
	// survives the loss of any one machine. It needs what Disk needs, on the replicas
	// too, and Options.Replicas.
	//
	// While replicas are missing, work continues with those that are connected, and Health
	// reports it: see Options.Strict.
	Replicated
)

// String returns the name of the mode, as in [store.Store].
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
	// Addresses, as host:port, are those of one server, of some nodes of a Cluster, or of the
	// Sentinels if Primary is set: of all Sentinels in mode [Replicated], where a majority is
	// asked. At least one.
	Addresses []string
	// Primary is the name of the server at the Sentinels. Default: no Sentinels.
	Primary string
	// Username and Password are for the servers. Default: none.
	Username, Password string
	// SentinelUsername and SentinelPassword are for the Sentinels. Default: none.
	SentinelUsername, SentinelPassword string
	// TLS configures the connections to servers and Sentinels. Default: no TLS.
	TLS *tls.Config
	// Stage separates environments on the same servers. Default "prod".
	Stage string
	// Mode is what a write must survive; [Open] refuses servers that keep less. Default [Disk].
	Mode Mode
	// Replicas is the number of replicas of each primary, for mode [Replicated]: all of them,
	// since any may be promoted. Default 0; at least 1 in that mode, and only there.
	Replicas int
	// Strict makes mode [Replicated] acknowledge nothing on a server that has fewer replicas
	// than promised: after a failover, until the former primary is back as a replica. Default:
	// work continues with the replicas that are connected, on the server's disk alone if there
	// is none, and [Store.Health] returns a [*DegradedError].
	//
	// It continues only where the primaries of the Cluster, or the Sentinels, confirm by
	// majority that the server is the primary, and for as long as they do: a server that is cut
	// off must not acknowledge what its replica, once promoted, would not have. And it
	// continues only if they consider the replica dead, or if it stays disconnected for twice
	// the time after which they would notice that the primary is cut off. A replica that is
	// connected and slow is waited for. A primary with replicas and neither Cluster nor
	// Sentinels cannot be confirmed and is always treated as strict.
	Strict bool
	// Logger receives the store's log. Default [slog.Default].
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
		bad.Add("out_of_range", "Mode", fmt.Sprintf("%d is not a mode", o.Mode), "use redisstore.Disk, Memory or Replicated")
	}
	if (o.Mode == Replicated) != (o.Replicas > 0) {
		bad.Add("out_of_range", "Replicas", fmt.Sprintf("%d in mode %s", o.Replicas, o.Mode),
			"give the number of replicas of each primary in mode replicated, and 0 in others")
	}
	if o.Strict && o.Mode != Replicated {
		bad.Add("out_of_range", "Strict", "is set in mode "+o.Mode.String(), "use it in mode replicated alone")
	}
	return bad.OrNil()
}
