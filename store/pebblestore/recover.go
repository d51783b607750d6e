package pebblestore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// LossError reports that the directory has less than what was acknowledged: files are missing,
// damaged, or from an earlier day. It matches [store.ErrCorrupt].
type LossError struct {
	Lost    []Loss
	Missing []string // names of files
	Damaged []string // names of files, and what is wrong with each
}

// Loss compares a partition's present progress with its acknowledged progress.
type Loss struct {
	Partition             int
	Number, NumberWas     uint64 // of the last commit
	Sequence, SequenceWas uint64 // of the last inbox message
}

// Error names each loss, and what to do.
func (e *LossError) Error() string {
	var what []string
	for _, l := range e.Lost {
		what = append(what, fmt.Sprintf("partition %d is at commit %d of %d and message %d of %d",
			l.Partition, l.Number, l.NumberWas, l.Sequence, l.SequenceWas))
	}
	for _, name := range e.Missing {
		what = append(what, name+" is gone")
	}
	what = append(what, e.Damaged...)
	return "acknowledged work is missing: " + strings.Join(what, "; ") +
		". Put the whole directory back from a backup, or open it with AcceptLoss to go on without"
}

// Is makes errors.Is(err, store.ErrCorrupt) true.
func (e *LossError) Is(target error) bool { return target == store.ErrCorrupt }

// makeDir creates dir for this user alone. It syncs each parent of a directory that it creates,
// or a crash could remove all of them.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	above := fs.PathDir(dir)
	if above != dir && above != "" {
		if err := makeDir(fs, above); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fs, above)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func lockDir(fs vfs.FS, dir string) (*pebble.Lock, error) {
	l, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the directory (%w): if another process has it open, "+
			"stop that one or give this one a directory of its own", err)
	}
	return l, nil
}

// openLog opens Pebble.
//
// A log of the newest format marks how far it was synced, so that damage before the mark is an
// error. But the first log of a new store is created before the format is raised, and damage in
// it would look like its end. So a new store is closed and opened again, which starts another
// log, before it accepts anything.
func (s *Store) openLog(m marks) (*pebble.DB, error) {
	desc, err := pebble.Peek(s.dir, s.fs)
	if err != nil {
		return nil, damaged(err)
	}
	if !desc.Exists && len(m) > 0 && !s.opts.AcceptLoss {
		return nil, lossOf(m, nil) // Pebble would start anew, and remove what it does not know
	}
	if err := s.checkManifest(s.fs.PathBase(desc.ManifestFilename)); err != nil {
		return nil, err
	}
	if !desc.Exists {
		db, err := s.openPebble()
		if err != nil {
			return nil, err
		}
		if err := s.guard.watch(db.Close); err != nil {
			return nil, err
		}
	}
	db, err := s.openPebble()
	if err != nil {
		return nil, damaged(err)
	}
	return db, nil
}

// missFiles checks for missing files. Pebble replays the logs that it finds, and a missing one
// looks like an obsolete one; without its newest marker an older manifest holds.
func (s *Store) missFiles() error {
	loss := &LossError{}
	for _, name := range slices.Sorted(maps.Keys(s.note.files)) {
		_, err := s.fs.Stat(s.fs.PathJoin(s.dir, name))
		switch {
		case oserror.IsNotExist(err):
			delete(s.note.files, name)
			if !isManifest(name) { // Pebble itself misses the one that it needs
				loss.Missing = append(loss.Missing, name)
			}
		case err != nil:
			return err
		}
	}
	if loss.Missing == nil {
		return nil
	}
	return s.accept(loss)
}

// checkManifest compares the current manifest with the watermark. Pebble takes a damaged end
// for the end, continues with an older list of tables and removes the others. A longer manifest
// than recorded is valid, and so is one that was not recorded.
func (s *Store) checkManifest(name string) error {
	was, noted := s.note.files[name]
	if !noted {
		return nil
	}
	b, err := readFile(s.fs, s.fs.PathJoin(s.dir, name))
	if err != nil {
		return damaged(err)
	}
	var wrong string
	switch {
	case uint64(len(b)) < was.size:
		wrong = fmt.Sprintf("%s is cut off: it has %d bytes of %d", name, len(b), was.size)
	case extent{}.add(b[:was.size]) != was:
		wrong = fmt.Sprintf("%s is damaged: its first %d bytes have a wrong checksum", name, was.size)
	default:
		return nil
	}
	delete(s.note.files, name)
	return s.accept(&LossError{Damaged: []string{wrong}})
}

// accept returns the loss, unless the caller of Open accepts it.
func (s *Store) accept(loss error) error {
	if !s.opts.AcceptLoss {
		return loss
	}
	s.logError("lost work accepted", loss)
	return nil
}

// errNewer does not report damage: a backup would not help, and no loss can be accepted.
var errNewer = errors.New("written by a newer version of weir: open it with that version or a later one")

// damaged marks Pebble's errors about files that are not as it left them.
func damaged(err error) error {
	switch {
	case pebble.IsCorruptionError(err), oserror.IsNotExist(err):
		return fmt.Errorf("%w: %w. Put the whole directory back from a backup", store.ErrCorrupt, err)
	case strings.Contains(err.Error(), "unknown format major version"): // Pebble has no error value to compare with
		return fmt.Errorf("%w (%w)", errNewer, err)
	}
	return err
}

// recover loads the partitions of the watermark, and compares.
func (s *Store) recover(m marks) error {
	have := marks{}
	for no := range m {
		p, err := s.partition(no)
		if err != nil {
			return err
		}
		have[no] = mark{p.number, p.last}
	}
	loss := lossOf(m, have)
	if loss == nil {
		return nil
	}
	if err := s.accept(loss); err != nil {
		return err
	}
	s.lost = losses(m, have)
	return s.writeNote(func(n *note) { n.marks = have }) // or the next Open would report it again
}

// Losses implements [store.Lossy].
func (s *Store) Losses() []store.Loss { return s.lost }

// losses lists what was lost in an accepted loss.
func losses(had, have marks) (all []store.Loss) {
	for _, no := range had.sorted() {
		if is, was := have[no], had[no]; is.number < was.number || is.seq < was.seq {
			all = append(all, store.Loss{Partition: no, Have: is.number, Acked: was.number})
		}
	}
	return all
}

// lossOf returns a *LossError if any partition has less than it had. Its type is error, so that
// no loss is nil.
func lossOf(had, have marks) error {
	var lost []Loss
	for _, no := range had.sorted() {
		was, is := had[no], have[no]
		if is.number < was.number || is.seq < was.seq {
			lost = append(lost, Loss{no, is.number, was.number, is.seq, was.seq})
		}
	}
	if lost == nil {
		return nil
	}
	return &LossError{Lost: lost}
}
