// Package schedule decides when a bulk action is created by the clock, and
// creates it once.
//
// The deciding half is pure; the time is an argument. [ParseStart] reads one
// moment, [Rule] a cron expression in a time zone, and [Due] says what a schedule
// has to do now. A slot is a moment at which a schedule fires.
//
// The clock changes of a zone follow two rules. A rule that lets every hour pass
// (`*/15 * * * *`) follows real time: it fires whenever the clock shows a matching
// minute, so also in an hour that comes twice, and not in one that is left out. A
// rule that names hours (`30 2 * * *`, `0 */2 * * *`) fires once for every
// time of day that it names: the first one of two, and at the first moment after
// the gap if the time is left out. Times that fall into the same gap share that one slot.
//
// Slots that passed while no keeper ran are late. Late slots within the catch-up window are fired:
// the newest alone, or all, as the schedule says; see [CatchUp].
//
// The other half is the [Keeper], which stores schedules as records, one record each, and fires
// them. It records that it is about to fire a slot before it creates the bulk action, and creates
// it under a key made of schedule and slot: any keeper that finds such a note finishes it with the
// same key. So there is one bulk action per slot whatever crashes, and any number of keepers may
// share a store.
package schedule
