// Package egress is the only way out to addresses that users may choose.
//
// An endpoint, a callback or a source names a host, and whoever may name it must
// not reach what only this machine can reach: itself, its network, the metadata
// service of its cloud. A [Guard] therefore looks at the address of every single
// connection, after its name was resolved and just before it is made, so a name
// that leads elsewhere the second time gains nothing. Public addresses are open on
// the usual ports; anything else is open only if the operator's list says so.
//
// [Guard.CheckURL] refuses what is visibly wrong when a URL is given, without
// asking any name server, so that people hear of it before anything runs. It is a
// courtesy: safety rests on the check at each connect.
//
// What a refused connection would have reached is told to the operator alone.
// For everybody else the error reads address_not_allowed.
package egress
