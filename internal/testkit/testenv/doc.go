// Package testenv starts real servers for tests: a Redis alone, a Sentinel set
// of a primary, two replicas and three Sentinels, and a Cluster of three
// primaries with a replica each. It also starts a PostgreSQL, an object
// store, and a Chromium that shows a page.
//
// Servers run from the installed redis-server (make deps), or from the program
// that the environment variable WEIR_REDIS_SERVER names, as for a Valkey. They
// listen on free ports of the loopback address, keep their data in the test's
// temporary directory, and end with the test. They begin no service of the
// system and touch none.
package testenv
