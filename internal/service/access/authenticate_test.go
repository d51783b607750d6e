package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// Two nodes share a store. Whatever the one has remembered when the other revokes,
// a second later the key is refused, and it is accepted until it is revoked.
func TestRevocationHoldsOnAllNodesWithinASecond(t *testing.T) {
	for offset := time.Duration(0); offset < time.Second; offset += 110 * time.Millisecond { // the cache is renewed in between
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New(memstore.Options{})
			here, there := newKeys(t, s, Options{}), newKeys(t, s, Options{})
			made, text := create(t, here, NewKey{})
			ctx, stop := context.WithCancel(t.Context())
			var last time.Time
			var caller sync.WaitGroup
			caller.Go(func() { // never gives the cache a rest
				for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
					if _, err := there.Authenticate(ctx, text); err == nil {
						last = time.Now()
					}
				}
			})
			time.Sleep(time.Second + offset)
			revoked := time.Now()
			if _, err := here.Revoke(t.Context(), root, made.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := here.Authenticate(t.Context(), text); !errors.Is(err, ErrBadCredentials) {
				t.Errorf("Authenticate where it was revoked = %v, want ErrBadCredentials", err)
			}
			time.Sleep(2 * time.Second)
			stop()
			caller.Wait()
			if after := last.Sub(revoked); after >= time.Second || after < -10*time.Millisecond {
				t.Errorf("accepted elsewhere until %v after it was revoked, want less than 1s, and until it was", after)
			}
		})
	}
}

func TestWrongRevokedAndExpiredKeysAreAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		k := newKeys(t, s, Options{})
		revoked, revokedText := create(t, k, NewKey{})
		if _, err := k.Revoke(t.Context(), root, revoked.ID); err != nil {
			t.Fatal(err)
		}
		_, expiredText := create(t, k, NewKey{Expires: time.Now().Add(time.Second)})
		good, goodText := create(t, k, NewKey{})
		if _, err := k.Authenticate(t.Context(), expiredText); err != nil {
			t.Fatalf("before it expires: %v", err)
		}
		time.Sleep(time.Second)
		_, other := newText()
		// Well-formed, with the id of a good key and another's secret.
		body := textPrefix + strings.TrimPrefix(good.ID, idPrefix) + other.Reveal()[len(textPrefix)+ulidChars:textChars-sumChars]
		for name, text := range map[string]string{
			"revoked": revokedText, "expired": expiredText, "never made": other.Reveal(), "mistyped": mistype(goodText, 50),
			"secret of another": body + checksum(body), "no key at all": "Passw0rd!", "id of a key": good.ID,
		} {
			p, err := k.Authenticate(t.Context(), text)
			if err == nil || err.Error() != ErrBadCredentials.Error() || p.KeyID != "" {
				t.Errorf("%s: Authenticate = %+v, %v, want %v", name, p, err, ErrBadCredentials)
			}
		}
		if _, err := k.Authenticate(t.Context(), ""); !errors.Is(err, ErrNoCredentials) {
			t.Errorf("nothing: Authenticate = %v, want ErrNoCredentials", err)
		}
		if _, err := k.Authenticate(t.Context(), goodText); err != nil {
			t.Errorf("good: Authenticate = %v", err)
		}
	})
}

func TestExpiryHoldsAtOnceAlthoughTheKeyIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeys(t, memstore.New(memstore.Options{}), Options{})
		_, text := create(t, k, NewKey{Expires: time.Now().Add(100 * time.Millisecond)})
		time.Sleep(99 * time.Millisecond)
		if _, err := k.Authenticate(t.Context(), text); err != nil {
			t.Errorf("just before = %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := k.Authenticate(t.Context(), text); !errors.Is(err, ErrBadCredentials) {
			t.Errorf("when it expires = %v, want ErrBadCredentials", err)
		}
	})
}

func TestBootstrapKeyIsAccepted(t *testing.T) {
	s := newCounted()
	_, a := newText()
	b := vault.NewSecret(strings.Repeat("0123456789abcdef", 4))
	k := newKeys(t, s, Options{Bootstrap: []vault.Secret{a, b}})
	for _, text := range []string{a.Reveal(), b.Reveal()} {
		p, err := k.Authenticate(t.Context(), text)
		if err != nil || p.KeyID != BootstrapID || !p.May(Admin) || !p.SeesAll() {
			t.Errorf("Authenticate = %+v, %v, want an administrator", p, err)
		}
	}
	if _, err := k.Authenticate(t.Context(), b.Reveal()[1:]); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("Authenticate with a part = %v, want ErrBadCredentials", err)
	}
	if lookups, swaps := s.seen(); lookups != 1 || swaps != 0 { // the first looks like one that was made here
		t.Errorf("%d look-ups and %d writes, want one and none", lookups, swaps)
	}
}

func TestABootstrapKeyThatWasMadeHereCanBeRevoked(t *testing.T) {
	s := newCounted()
	made, text := create(t, newKeys(t, s, Options{}), NewKey{Name: "ops", Scopes: []Scope{Admin}})
	k := newKeys(t, s, Options{Bootstrap: []vault.Secret{vault.NewSecret(text)}})
	if p, err := k.Authenticate(t.Context(), text); err != nil || p.KeyID != made.ID || p.Name != "ops" {
		t.Errorf("Authenticate = %+v, %v, want the key itself", p, err)
	}
	if _, err := k.Revoke(t.Context(), bootstrap, made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Authenticate(t.Context(), text); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("Authenticate after it was revoked = %v, want ErrBadCredentials", err)
	}
}

func TestStoreIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted()
		k, other := newKeys(t, s, Options{}), newKeys(t, s, Options{})
		made, text := create(t, k, NewKey{})
		lookups0, swaps0 := s.seen()
		if _, err := k.Authenticate(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(freshFor / 2) // so that one node reads while the other trusts
		for range 3 * 60 * 100 { // 100 a second on each of two nodes for three minutes
			for _, node := range []*Keys{k, other} {
				if _, err := node.Authenticate(t.Context(), text); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		lookups, swaps := s.seen()
		if lookups -= lookups0; lookups > 2*(3*60*100/80+10) {
			t.Errorf("%d look-ups in three minutes", lookups)
		}
		if swaps -= swaps0; swaps != 4 { // at the start and after each minute
			t.Errorf("the last use was written %d times in three minutes, want 4", swaps)
		}
		if got, err := k.Get(t.Context(), root, made.ID); err != nil || time.Since(got.Used) > time.Minute || got.Used.IsZero() {
			t.Errorf("last used %v ago, %v, want at most a minute", time.Since(got.Used), err)
		}
	})
}

func TestStoreThatFailsIsNoWrongKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted()
		k := newKeys(t, s, Options{})
		_, text := create(t, k, NewKey{})
		down := errors.New("store is down")
		s.failWith(down)
		if _, err := k.Authenticate(t.Context(), text); !errors.Is(err, down) || errors.Is(err, ErrBadCredentials) {
			t.Errorf("Authenticate = %v, want %v", err, down)
		}
		s.failWith(nil)
		if _, err := k.Authenticate(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		s.failWith(down)
		time.Sleep(freshFor - time.Millisecond)
		if _, err := k.Authenticate(t.Context(), text); err != nil {
			t.Errorf("Authenticate while it is remembered = %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := k.Authenticate(t.Context(), text); !errors.Is(err, down) {
			t.Errorf("Authenticate when it is not = %v, want %v", err, down)
		}
	})
}

func TestWrongKeysSlowTheirAddressDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted()
		k := newKeys(t, s, Options{})
		_, inUse := create(t, k, NewKey{})
		_, fresh := create(t, k, NewKey{})
		bad, good := netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("198.51.100.8")
		if _, err := k.AuthenticateFrom(t.Context(), bad, inUse); err != nil {
			t.Fatal(err)
		}
		before, _ := s.seen()
		refused := 0
		for range 1000 {
			_, wrong := newText()
			_, err := k.AuthenticateFrom(t.Context(), bad, wrong.Reveal())
			if limit, ok := errors.AsType[*LimitError](err); ok {
				if refused++; limit.RetryAfter != time.Second {
					t.Fatalf("RetryAfter = %v, want 1s", limit.RetryAfter)
				}
			} else if !errors.Is(err, ErrBadCredentials) {
				t.Fatal(err)
			}
		}
		if after, _ := s.seen(); refused != 1000-failureBurst || after-before != failureBurst {
			t.Errorf("%d refused and %d look-ups, want %d and %d", refused, after-before, 1000-failureBurst, failureBurst)
		}
		if _, err := k.AuthenticateFrom(t.Context(), bad, "rubbish"); !isLimit(err) {
			t.Errorf("rubbish = %v, want a limit", err)
		}
		for range 3 { // also when it has to be looked at again
			time.Sleep(300 * time.Millisecond)
			if _, err := k.AuthenticateFrom(t.Context(), bad, inUse); err != nil {
				t.Errorf("a key in use, from the same address = %v", err)
			}
		}
		for _, from := range []netip.Addr{bad, good} {
			if _, err := k.AuthenticateFrom(t.Context(), from, fresh); err != nil {
				t.Errorf("a key that is new here, from %s = %v", from, err)
			}
		}
		time.Sleep(time.Second)
		if _, err := k.AuthenticateFrom(t.Context(), bad, "rubbish"); !errors.Is(err, ErrBadCredentials) {
			t.Errorf("rubbish a second later = %v, want ErrBadCredentials", err)
		}
	})
}

// TestWrongKeysLockNoRightKeyOut floods a node with wrong keys, while people with keys that it has not seen sign in from the
// same address, which is that of a proxy.
func TestWrongKeysLockNoRightKeyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted()
		here, elsewhere := newKeys(t, s, Options{}), newKeys(t, s, Options{})
		proxy := netip.MustParseAddr("198.51.100.7")
		var rightKeys []string
		for range 20 {
			_, text := create(t, elsewhere, NewKey{})
			rightKeys = append(rightKeys, text)
		}
		revoked, revokedText := create(t, elsewhere, NewKey{})
		if _, err := elsewhere.Revoke(t.Context(), root, revoked.ID); err != nil {
			t.Fatal(err)
		}
		before, _ := s.seen()
		accepted := 0
		for second := range 20 {
			for range 100 {
				known, _ := idOf(rightKeys[second])
				for _, wrong := range []string{"rubbish", textOf(NewID()).Reveal(), textOf(known).Reveal(), revokedText} {
					if _, err := here.AuthenticateFrom(t.Context(), proxy, wrong); !isLimit(err) && !errors.Is(err, ErrBadCredentials) {
						t.Fatalf("a wrong key = %v", err)
					}
				}
			}
			if _, err := here.AuthenticateFrom(t.Context(), proxy, rightKeys[second]); err != nil {
				t.Errorf("second %d: a right key = %v", second, err)
				continue
			}
			accepted++
			if _, made := create(t, here, NewKey{}); true { // and one that was made a moment ago
				if _, err := here.AuthenticateFrom(t.Context(), proxy, made); err != nil {
					t.Errorf("second %d: a key that was just created here = %v", second, err)
				}
			}
			time.Sleep(time.Second)
		}
		after, _ := s.seen()
		// Two look-ups a right key, and those of wrong keys that the budget of the address allows.
		if most := 6*accepted + failureBurst + 20; after-before > most {
			t.Errorf("%d look-ups, want at most %d", after-before, most)
		}
		for second := range 3 { // a key of another node waits for the next read at most
			_, text := create(t, elsewhere, NewKey{})
			time.Sleep(rosterRest)
			if _, err := here.AuthenticateFrom(t.Context(), proxy, text); err != nil {
				t.Errorf("a key that another node created %v ago (%d) = %v", rosterRest, second, err)
			}
		}
	})
}

func isLimit(err error) bool {
	_, ok := errors.AsType[*LimitError](err)
	return ok
}

func TestNoNumberOfAddressesMakesFailuresGrow(t *testing.T) {
	f, now := newFailures(), time.Now()
	attacker := netip.MustParseAddr("2001:db8:1:2::1")
	for i := range failureBurst { // from as many addresses of one network
		f.add(netip.MustParseAddr(fmt.Sprintf("2001:db8:1:2::%x", i)), now)
	}
	if f.check(attacker, now) == nil {
		t.Error("a network of IPv6 is not one caller")
	}
	if mapped := netip.MustParseAddr("::ffff:192.0.2.1"); f.slot(mapped) != f.slot(mapped.Unmap()) {
		t.Error("an address and its form in IPv6 are two callers")
	}
	allocs := testing.AllocsPerRun(1000, func() {
		attacker = netip.AddrFrom16(netip.MustParsePrefix("2001:db8::/32").Addr().As16())
		f.add(attacker, now)
		_ = f.check(netip.MustParseAddr("203.0.113.1"), now)
	})
	if allocs > 0 {
		t.Errorf("a failure allocates %v times, want never", allocs)
	}
}

func TestCacheHasASize(t *testing.T) {
	c := newCache()
	for i := range cacheSize + 100 {
		c.put(fmt.Sprint(i), hash{}, &Key{}, time.Now())
	}
	if len(c.keys) != cacheSize {
		t.Errorf("cache holds %d keys, want %d", len(c.keys), cacheSize)
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	k := newKeys(t, memstore.New(memstore.Options{}), Options{})
	made, text := create(t, k, NewKey{})
	if _, err := k.AuthenticateFrom(t.Context(), netip.IPv6Loopback(), text); err != nil { // in use before the wrong ones come
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				if p, err := k.AuthenticateFrom(context.Background(), netip.IPv6Loopback(), text); err != nil || p.KeyID != made.ID {
					t.Errorf("Authenticate = %+v, %v", p, err)
				}
				_, _ = k.AuthenticateFrom(context.Background(), netip.IPv6Loopback(), "wrong")
			}
		})
	}
	callers.Wait()
}

func BenchmarkAuthenticate(b *testing.B) {
	k, _ := NewKeys(memstore.New(memstore.Options{}), Options{})
	_, text, err := k.Create(b.Context(), root, NewKey{Name: "bench", Scopes: []Scope{Read}})
	if err != nil {
		b.Fatal(err)
	}
	from := netip.IPv6Loopback()
	for b.Loop() {
		if _, err := k.AuthenticateFrom(b.Context(), from, text.Reveal()); err != nil {
			b.Fatal(err)
		}
	}
}
