package draft

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
)

// sameIDs finds rows whose id an earlier row has, exactly or but for capitals and spaces around it. It takes about 31 bytes
// per id, and as much again for one that has capitals or spaces.
type sameIDs struct {
	ids   *source.Keys
	plain *source.Keys // ids without capitals and spaces, of those that have them
	ends  []int        // by file: how many lines the files before have
	last  int          // the place of the newest row
}

// add adds the id of a row. If an earlier row has it, or else one that is alike, it says where; repeats tells which.
func (s *sameIDs) add(id string, file, line int) (same api.SameID, repeats bool) {
	if s.ids == nil {
		s.ids, s.plain = source.NewPlacedKeys(), source.NewPlacedKeys()
	}
	for len(s.ends) < file {
		s.ends = append(s.ends, s.last)
	}
	at := s.ends[file-1] + line
	s.last = max(s.last, at)
	first, fresh := s.ids.AddAt(id, at)
	if !fresh {
		return s.same(id, at, first), true
	}
	plain := source.FoldID(id)
	first, found := s.plain.At(plain)
	if plain != id {
		if !found {
			first, found = s.ids.At(plain)
		}
		s.plain.AddAt(plain, at)
	}
	if !found {
		return same, false
	}
	return s.same(id, at, first), false
}

// same describes a row and an earlier one.
func (s *sameIDs) same(id string, at, first int) (out api.SameID) {
	out.ID = id
	out.File, out.Line = s.place(at)
	if first > 0 {
		out.FirstFile, out.FirstLine = s.place(first)
	}
	return out
}

// place returns file and line of a row; the first file is 0.
func (s *sameIDs) place(at int) (file, line int64) {
	no := len(s.ends)
	for no > 1 && s.ends[no-1] >= at {
		no--
	}
	if no > 1 {
		file = int64(no)
	}
	return file, int64(at - s.ends[no-1])
}
