// Package egress makes all connections to addresses that users may choose.
//
// An endpoint, a callback or a source names a host. The user who names it must not reach what
// only this machine can reach: itself, its network, the metadata service of its cloud. A
// [Guard] therefore checks the address of every single connection, after its name was resolved
// and just before it is made, so a name that resolves differently the second time gains
// nothing. Public addresses are open on the usual ports; all others are open only if the
// operator's list allows them.
//
// [Guard.CheckURL] refuses URLs that are visibly wrong as soon as they are given, without a
// name lookup, so that users hear of it before anything runs. It is a convenience: safety rests
// on the check at each connect.
//
// Only the operator is told what a refused connection would have reached. All other callers see
// the error address_not_allowed.
package egress
