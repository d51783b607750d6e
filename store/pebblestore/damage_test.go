package pebblestore

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// told returns a file system with a finished story on it, and what was acknowledged.
func told(t *testing.T, rounds int) (*vfs.MemFS, ledger) {
	t.Helper()
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{})
	var y story
	if err := y.run(t.Context(), s, rounds); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return fs, y.seen()
}

// copied returns a copy of the store's directory, in which change may change each file.
func copied(t *testing.T, from vfs.FS, change func(name string, data []byte) (kept []byte, keep bool)) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if err := to.MkdirAll("data/weir", 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := from.List("data/weir")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := from.Open(from.PathJoin("data/weir", name))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if data, keep := change(name, data); keep {
			if err := writeFile(to, to.PathJoin("data/weir", name), data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// damages lists the kinds of damage to a file with content.
var damages = []struct {
	name string
	do   func(r *rand.Rand, data []byte) (kept []byte, keep bool)
}{
	{"one bit flipped", func(r *rand.Rand, d []byte) ([]byte, bool) {
		d[r.IntN(len(d))] ^= 1 << r.IntN(8)
		return d, true
	}},
	{"cut by up to 4 KiB", func(r *rand.Rand, d []byte) ([]byte, bool) {
		return d[:len(d)-1-r.IntN(min(len(d), 4096))], true
	}},
	{"a page of zeros", func(r *rand.Rand, d []byte) ([]byte, bool) {
		from := r.IntN(len(d))
		clear(d[from:min(len(d), from+4096)])
		return d, true
	}},
	{"gone", func(*rand.Rand, []byte) ([]byte, bool) { return nil, false }},
}

// TestDamageIsNeverSilent damages one file at a time. The store may open and have
// everything, or refuse, or refuse to give what is damaged. It may not have less.
func TestDamageIsNeverSilent(t *testing.T) {
	fs, was := told(t, 4)
	names, err := fs.List("data/weir")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for _, name := range names {
		for _, damage := range damages {
			times := 1
			if strings.HasSuffix(name, logSuffix) || strings.HasPrefix(name, "MANIFEST") {
				times = 4
			}
			for range times {
				hurt := copied(t, fs, func(n string, data []byte) ([]byte, bool) {
					if n != name || len(data) == 0 {
						return data, true
					}
					return damage.do(random, data)
				})
				switch err := inspect(t, hurt, was); {
				case err == nil:
				case errors.Is(err, errRefused), errors.Is(err, store.ErrCorrupt):
					refused++
				default:
					t.Errorf("%s, %s: %v", name, damage.name, err)
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d damages were found, want 20 at least: the test damages nothing", refused)
	}
}

// TestADamagedManifestIsNeverSilent flips a bit of every byte of the newest manifest, and cuts it at every length.
// Pebble takes a damaged end for the end of the file, and removes the tables that only the lost part names.
func TestADamagedManifestIsNeverSilent(t *testing.T) {
	for _, killed := range []bool{false, true} {
		fs, was := usedTwice(t, killed)
		manifest := newestManifest(t, fs)
		whole, err := readFile(fs, "data/weir/"+manifest)
		if err != nil {
			t.Fatal(err)
		}
		for at := range whole {
			flipped := slices.Clone(whole)
			flipped[at] ^= 1 << (at % 8)
			for what, data := range map[string][]byte{"flipped": flipped, "cut": whole[:at]} {
				before := copied(t, fs, func(name string, b []byte) ([]byte, bool) {
					if name == manifest {
						return data, true
					}
					return b, true
				})
				err := inspect(t, before, was)
				if !errors.Is(err, errRefused) || !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), manifest) {
					t.Errorf("killed %v, %s at byte %d of %d: %v, want it refused and %s named", killed, what, at, len(whole), err, manifest)
				}
			}
		}
	}
}

func newestManifest(t *testing.T, fs vfs.FS) string {
	t.Helper()
	desc, err := pebble.Peek("data/weir", fs)
	if err != nil {
		t.Fatal(err)
	}
	return fs.PathBase(desc.ManifestFilename)
}

// TestADamagedManifestCanBeAccepted opens with what is left, and then without a question.
func TestADamagedManifestCanBeAccepted(t *testing.T) {
	fs, _ := usedTwice(t, true)
	manifest := newestManifest(t, fs)
	cut := copied(t, fs, func(name string, data []byte) ([]byte, bool) {
		if name == manifest {
			return data[:len(data)-1], true
		}
		return data, true
	})
	var loss *LossError
	if _, err := Open("data/weir", Options{FS: cut, Logger: quiet()}); !errors.As(err, &loss) || len(loss.Damaged) != 1 {
		t.Fatalf("Open() = %v, want a *LossError that names the manifest", err)
	}
	for _, accept := range []bool{true, false} {
		if err := openMem(t, cut, Options{AcceptLoss: accept}).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

var errRefused = errors.New("refused")

func inspect(t *testing.T, fs vfs.FS, was ledger) error {
	s, err := Open("data/weir", Options{FS: fs, Logger: quiet()})
	if err != nil {
		return errors.Join(errRefused, err)
	}
	return errors.Join(was.judge(t.Context(), s), s.Close())
}

// TestALogThatLostItsEndIsFoundOut cuts the log where a crash could have cut
// it: Pebble alone takes that for the end, the watermark knows better.
func TestALogThatLostItsEndIsFoundOut(t *testing.T) {
	fs, was := told(t, 2)
	cut := copied(t, fs, func(name string, data []byte) ([]byte, bool) {
		if strings.HasSuffix(name, logSuffix) {
			return nil, true
		}
		return data, true
	})
	_, err := Open("data/weir", Options{FS: cut, Logger: quiet()})
	var loss *LossError
	if !errors.As(err, &loss) || !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("Open() = %v, want a *LossError", err)
	}
	want := Loss{Partition: storyPartition, NumberWas: was.commits, SequenceWas: was.appends}
	if len(loss.Lost) != 1 || loss.Lost[0] != want {
		t.Errorf("loss = %+v, want %+v", loss.Lost, want)
	}
	if !strings.Contains(err.Error(), "AcceptLoss") || !strings.Contains(err.Error(), "partition 5 is at commit 0 of 2") {
		t.Errorf("error %q names neither what is missing nor what to do", err)
	}

	s := openMem(t, cut, Options{AcceptLoss: true})
	if last, err := s.Last(t.Context(), storyPartition); last != (store.Last{}) || err != nil {
		t.Errorf("Last() = %+v, %v; want none", last, err)
	}
	var y story
	if err := errors.Join(y.run(t.Context(), s, 1), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := openMem(t, cut, Options{}).Close(); err != nil { // the loss is forgotten
		t.Error(err)
	}
}

func TestAnOldCopyIsFoundOut(t *testing.T) {
	fs, _ := told(t, 2)
	keep := func(_ string, data []byte) ([]byte, bool) { return data, true }
	old := copied(t, fs, keep)
	s := openMem(t, fs, Options{})
	y := story{was: ledger{commitsBegun: 2, appendsBegun: 2}}
	if err := errors.Join(y.run(t.Context(), s, 3), s.Close()); err != nil {
		t.Fatal(err)
	}
	restored := copied(t, old, func(name string, data []byte) ([]byte, bool) {
		return data, !strings.HasPrefix(name, "WATERMARK")
	})
	for _, name := range markFiles {
		if b, err := readFile(fs, "data/weir/"+name); err == nil {
			if err := writeFile(restored, "data/weir/"+name, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	var loss *LossError
	if _, err := Open("data/weir", Options{FS: restored, Logger: quiet()}); !errors.As(err, &loss) {
		t.Fatalf("Open of last week's files with today's watermark = %v, want a *LossError", err)
	}
}

// TestDamageInTheTailIsFoundOnceTheLogIsQuiet has no watermark to help: without
// the padding Pebble takes the damage for the end of the log.
func TestDamageInTheTailIsFoundOnceTheLogIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewCrashableMem()
		s := openMem(t, fs, Options{})
		var y story
		if err := y.run(t.Context(), s, 2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * padAfter)
		synctest.Wait()
		after := crashed(fs, 0, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for at := 40; at < 400; at += 60 {
			hurt := copied(t, after, func(name string, data []byte) ([]byte, bool) {
				if strings.HasSuffix(name, logSuffix) && len(data) > padBytes { // not one that is obsolete
					data[at] ^= 4
				}
				return data, !strings.HasPrefix(name, "WATERMARK")
			})
			if err := inspect(t, hurt, y.seen()); !errors.Is(err, errRefused) {
				t.Errorf("byte %d of the log flipped: %v, want it refused", at, err)
			}
		}
	})
}

func TestALogThatIsGoneIsFoundOut(t *testing.T) {
	fs, _ := told(t, 2)
	var gone string
	without := copied(t, fs, func(name string, data []byte) ([]byte, bool) {
		if strings.HasSuffix(name, logSuffix) {
			gone = name
			return nil, false
		}
		return data, true
	})
	_, err := Open("data/weir", Options{FS: without, Logger: quiet()})
	var loss *LossError
	if !errors.As(err, &loss) || len(loss.Missing) != 1 || loss.Missing[0] != gone {
		t.Fatalf("Open without %s = %v, want a *LossError that names it", gone, err)
	}
	if err := openMem(t, without, Options{AcceptLoss: true}).Close(); err != nil {
		t.Error(err)
	}
}

func TestAStoreWhoseDatabaseIsGoneIsNotBegunAnew(t *testing.T) {
	fs, _ := told(t, 2)
	gone := copied(t, fs, func(name string, data []byte) ([]byte, bool) {
		return data, strings.HasPrefix(name, "WATERMARK") || strings.HasSuffix(name, logSuffix)
	})
	before, _ := gone.List("data/weir")
	var loss *LossError
	if _, err := Open("data/weir", Options{FS: gone, Logger: quiet()}); !errors.As(err, &loss) {
		t.Fatalf("Open() = %v, want a *LossError", err)
	}
	after, _ := gone.List("data/weir")
	if len(after) < len(before) {
		t.Errorf("files %v became %v: what might be saved was removed", before, after)
	}
}
