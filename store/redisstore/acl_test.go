package redisstore_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
	"github.com/weirhq/weir/store/storetest"
)

// The page on security tells operators which user to make. These tests make
// exactly that user: each reads the page.

const (
	userName     = "weir"
	userPassword = "PASSWORD" // what the page has in the password's place
)

// documented is a block of the page that holds rights, by what its opening line says it is.
func documented(t testing.TB, kind string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```"+kind+"\n")
	text, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !ended {
		t.Fatalf("docs/security.md has no block %s", kind)
	}
	return text
}

// rights is the documented user as ACL SETUSER wants it, with what the page adds for these uses.
func rights(t testing.TB, kind string, uses ...string) []string {
	t.Helper()
	words := strings.Fields(documented(t, kind))
	if len(words) < 4 || words[0] != "user" || words[1] != userName || !slices.Contains(words, ">"+userPassword) {
		t.Fatalf("the block %s begins with %q, want user %s and a password", kind, words, userName)
	}
	words = words[2:]
	for _, use := range uses {
		_, more, found := strings.Cut(documented(t, "acl-more")+"\n", use+":")
		if !found {
			t.Fatalf("docs/security.md adds nothing for %q", use)
		}
		more, _, _ = strings.Cut(more, "\n")
		words = append(words, strings.Fields(more)...)
	}
	return words
}

// restrict makes the user on servers.
func restrict(words []string, servers ...*testenv.Server) {
	for _, s := range servers {
		s.Do(append([]string{"ACL", "SETUSER", userName, "reset"}, words...)...)
	}
}

// restrictSet makes the users that are for a Sentinel set, with what the page adds for these uses.
func restrictSet(t testing.TB, s *testenv.SentinelSet, o redisstore.Options, uses ...string) redisstore.Options {
	t.Helper()
	restrict(rights(t, "acl", append(uses, "behind Sentinels")...), append(s.Replicas[:len(s.Replicas):len(s.Replicas)], s.Primary)...)
	restrict(rights(t, "acl-sentinel"), s.Sentinels...)
	o = asUser(o)
	o.SentinelUsername, o.SentinelPassword = o.Username, o.Password
	return o
}

// restrictCluster makes the user on all nodes of a Cluster.
func restrictCluster(t testing.TB, c *testenv.Cluster, o redisstore.Options, uses ...string) redisstore.Options {
	t.Helper()
	restrict(rights(t, "acl", append(uses, "in a Cluster")...), append(c.Primaries[:len(c.Primaries):len(c.Primaries)], c.Replicas...)...)
	return asUser(o)
}

// asUser are options that sign in as that user.
func asUser(o redisstore.Options) redisstore.Options {
	o.Username, o.Password = userName, userPassword
	return o
}

// waitsFor lists what mode replicated needs on this server.
func waitsFor(s *testenv.Server) string {
	info := s.Do("INFO", "server")
	m := regexp.MustCompile(`redis_version:(\d+)\.(\d+)`).FindStringSubmatch(info)
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major > 7 || major == 7 && minor >= 2 {
		return "mode replicated, version 7.2 or later"
	}
	return "mode replicated, version 7.0"
}

// wantUsed fails for an unused permission, so that the page asks for no more than is needed.
func wantUsed(t *testing.T, words []string, servers ...*testenv.Server) {
	t.Helper()
	var used strings.Builder
	for _, s := range servers {
		used.WriteString(s.Do("INFO", "commandstats"))
	}
	for _, word := range words {
		name, isCommand := strings.CutPrefix(word, "+")
		if isCommand && !strings.Contains(used.String(), "cmdstat_"+name+":") {
			t.Errorf("the page asks for %s, which nothing used", word)
		}
	}
}

func TestConformanceOnOneServer(t *testing.T) {
	r := testenv.Redis(t)
	words := rights(t, "acl")
	restrict(words, r)
	o := asUser(redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	t.Run("as the documented user", func(t *testing.T) {
		storetest.RunBackend(t, backend(o))
	})
	drawAhead(t, o)
	drawTogether(t, o, r)
	wantUsed(t, words, r)
	for _, object := range refusals(t, r) {
		if object != "client|unblock" { // of which the page says that it may be left out
			t.Errorf("the user was refused %s, which weir uses", object)
		}
	}
}

// refusals are the commands and keys that were refused since the server started.
func refusals(t *testing.T, r *testenv.Server) (objects []string) {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	log, err := c.Do(t.Context(), c.B().Arbitrary("ACL", "LOG", "128").Build()).ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range log {
		fields, err := entry.AsMap()
		if err != nil {
			t.Fatal(err)
		}
		object := fields["object"]
		name, _ := object.ToString()
		objects = append(objects, name)
	}
	return objects
}

// drawAhead has a node ask for its quota while permits are out that begin later: the one thing that the contract does not try.
func drawAhead(t *testing.T, o redisstore.Options) {
	t.Helper()
	s := open(t, o)
	defer s.Close()
	l := store.Limit{Resource: "ahead", Units: 10, Window: time.Second}
	until(t, "a permit begins later", func() bool {
		after, ok, err := s.Draw(t.Context(), l, 10)
		if err != nil {
			t.Fatal(err)
		}
		return ok && after > 0
	})
	if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a"}, time.Second); err != nil {
		t.Fatal(err)
	}
}

// drawTogether draws permits until two begin so near to each other that the books have one entry for both.
func drawTogether(t *testing.T, o redisstore.Options, r *testenv.Server) {
	t.Helper()
	s := open(t, o)
	defer s.Close()
	l := store.Limit{Resource: "together", Units: 1_000_000, Window: time.Second}
	until(t, "two permits begin together", func() bool {
		for range 2 {
			if _, _, err := s.Draw(t.Context(), l, 1); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Contains(r.Do("INFO", "commandstats"), "cmdstat_lset:")
	})
}

// TestTheDocumentedUserRunsBulkActionsOfItsStage narrows the user to a stage, as the page says one can.
func TestTheDocumentedUserRunsBulkActionsOfItsStage(t *testing.T) {
	r := testenv.Redis(t)
	words := rights(t, "acl")
	words[slices.Index(words, "~weir:*")] = "~weir:{mine:*"
	restrict(words, r)
	n := startNode(t, asUser(redisstore.Options{Addresses: []string{r.Addr}, Stage: "mine"}))
	n.wantAll(t, 100, n.submit(t, 100, "user"))
	wantRefused(t, r, "GET weir:{other:p0}:meta", "SMEMBERS weir:{minefield:p0}:owners")
}

// TestTheDocumentedUserCanDoNothingElse tries what would harm others who use the same server.
func TestTheDocumentedUserCanDoNothingElse(t *testing.T) {
	r := testenv.Redis(t)
	restrict(rights(t, "acl", "behind Sentinels", "in a Cluster", waitsFor(r)), r)
	r.Do("SET", "other", "1")
	wantRefused(
		t, r,
		"FLUSHALL", "FLUSHDB", "KEYS *", "KEYS other*", "SCAN 0", "RANDOMKEY", "DBSIZE", "SWAPDB 0 1", "SELECT 1",
		"CONFIG SET maxmemory 1", "CONFIG REWRITE", "CONFIG RESETSTAT", "ACL LIST", "ACL SETUSER weir +@all", "ACL WHOAMI",
		"SHUTDOWN NOSAVE", "SAVE", "BGREWRITEAOF", "REPLICAOF 127.0.0.1 1", "CLUSTER RESET", "MODULE LIST", "MONITOR",
		"CLIENT KILL TYPE normal", "CLIENT LIST", "CLIENT PAUSE 1", "SCRIPT FLUSH", "SCRIPT KILL", "FUNCTION FLUSH", "MIGRATE 127.0.0.1 1 other 0 1", "SLOWLOG GET",
		"PUBLISH any text", "RENAME weir:a weir:b", "COPY weir:a weir:b", "DUMP weir:a", "EXPIREAT weir:a 1",
		"GET other", "SET other 2", "DEL other", "UNLINK other", "MGET weir:a other", "SMEMBERS others", "GET weirdo",
		"EVAL return{redis.call('GET',KEYS[1])} 1 other", "EVAL return{redis.call('GET','other')} 0", "EVAL return{redis.call('FLUSHALL')} 0",
		"EVAL return{redis.call('SET','other','2')} 1 weir:a",
	)
	if got := r.Do("GET", "other"); got != "1" {
		t.Errorf("what is another's is now %q", got)
	}
	if n := len(refusals(t, r)); n < 30 {
		t.Errorf("the server tells of %d refusals: reading them is broken", n)
	}
}

// wantRefused has the user try commands that it has no right to.
func wantRefused(t *testing.T, r *testenv.Server, commands ...string) {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.Addr}, Username: userName, Password: userPassword, DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, command := range commands {
		err := c.Do(t.Context(), c.B().Arbitrary(strings.Fields(command)...).Build()).Error()
		refusal, ok := rueidis.IsRedisErr(err)
		if !ok || !strings.Contains(refusal.Error(), "NOPERM") && !strings.Contains(refusal.Error(), "The user executing the script can't") {
			t.Errorf("%s: %v, want that the user is refused", command, err)
		}
	}
}
