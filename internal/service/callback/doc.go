// Package callback tells users' systems what happened to their bulk actions: by
// signed webhooks and, as an option, by a Kafka topic.
//
// A [Notifier] takes an [Event] with [Notifier.Note] and makes one delivery of it
// for every endpoint that wants to hear of it. When Note has returned, all of that
// is durable and the caller may forget the event; until then it may note the event
// again, and however often that happens, on whichever node, there is one body and
// one delivery for each endpoint. [Notifier.Run] sends what is due, at least once,
// always with the same id and the same bytes, until the endpoint has taken it or
// the schedule is at its end; the delivery then is [Failed], and can be sent again.
//
// # Records
//
// There is no transaction over two records, so one record decides each thing:
//
//	event     by event id     the body, made by whoever is first
//	delivery  by delivery id  state, schedule, claim and log: the truth
//	notice    three lists     what is pending; the deliveries of a bulk action and of an endpoint
//	webhook   by endpoint id  where to send, what, and the sealed secrets
//
// A delivery is made before its notices. A pending notice that is left over is
// removed when it is found; one that is missing after a crash is made when the
// event is noted again, which its caller does because Note has not returned. It
// carries the round of its delivery, which grows when it is sent again, so that
// whoever removes the notice of one round cannot remove that of the next.
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
