// Package serverkill checks the promises of a server by killing it.
//
// Its tests run a whole server in a process of its own, on a store on disk and
// behind a real socket, and end that process by kill -9 at random moments while
// clients create, fill, seal, start and cancel bulk actions, upload files and set
// schedules, repeating every request without an answer. What the server calls (actions,
// segments, callbacks) lives in the test's own process, survives, and keeps books.
// In the end the books of the clients, of the downstream and of the server have to
// agree, item by item.
package serverkill
