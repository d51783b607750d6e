// Package server makes a service of an engine, as an [http.Handler] to mount in a program of your own: the HTTP API
// with its OpenAPI document, pages for people, metrics, schedules, webhooks, sources, uploads, templates, forecasts,
// failed items and undo.
//
//	eng, err := engine.Open(ctx, store, engine.Options{})
//	err = eng.Handle(award, message)
//	srv, err := server.New(ctx, eng, server.Options{Prefix: "/bulk", Principal: whoAsks, VaultKey: key})
//	mux.Handle("/bulk/", srv)
//	go srv.Run(ctx) // instead of eng.Run
//
// The API is then at /bulk/v1 and the pages are at /bulk/ui/. Package client, and the command weir with --server,
// take https://example.com/bulk as the address of the server. Actions that were registered with the engine can be
// used over the API by their names; bulk actions that the program submits itself are seen there, too.
//
// weir serve is the same service as a program of its own.
package server
