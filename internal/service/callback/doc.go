// Package callback reports the events of bulk actions to users' systems: by signed webhooks and,
// as an option, by a Kafka topic.
//
// A [Notifier] takes an [Event] with [Notifier.Note] and creates one delivery for every endpoint
// that wants it. When Note has returned, everything is durable and the caller may forget the
// event. Until then it may note the event again: however often, and on whichever node, the event
// has one body and one delivery for each endpoint. [Notifier.Run] sends due deliveries, at least
// once, always with the same id and the same bytes, until the endpoint accepts it or the schedule
// is exhausted; the delivery then is [Failed], and can be resent.
//
// # Records
//
// Transactions over two records do not exist, so one record decides each thing:
//
//	event     by event id     the body, written by the first caller
//	delivery  by delivery id  state, schedule, claim and log: the truth
//	notice    three lists     what is pending; the deliveries of a bulk action and of an endpoint
//	webhook   by endpoint id  where to send, what, and the sealed secrets
//
// A delivery is written before its notices. A leftover pending notice is removed when it is found.
// A notice that is missing after a crash is written when the caller notes the event again, since
// Note has not returned. A notice carries the round of its delivery, which grows with each resend,
// so that removing the notice of one round cannot remove that of the next.
//
// # Who sends
//
// A node claims a delivery for a little longer than an attempt may take. In normal
// operation it is sent once; after a crash, or a pause longer than the claim, it
// may be sent again. At most two attempts are under way for one endpoint, and for
// the URLs of one tenant's events at one host, so that a receiver that hangs delays
// no other one; and at most 16 for one host, so that a host that hangs for all tenants
// does not delay other hosts.
//
// Signatures are those of package execute. Connections are made by the transport
// and the dialer that come from outside, which have to be those of package egress.
package callback
