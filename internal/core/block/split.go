package block

import "encoding/binary"

// patience is the number of documents in a row without a known shape after which the rest of a block is stored whole.
const patience = 32

// splitter cuts documents into shapes and values.
type splitter struct {
	shapes  [maxShapes]shape
	n       int    // shapes in use
	which   []byte // the shape of each document, counted from 1; 0: it stays as it is
	last    int    // the shape of the last one that had one
	misses  int    // documents in a row that matched none
	rawLens []byte
	raw     []byte
	found   [maxColumns]value
}

func (s *splitter) reset() {
	s.n, s.last, s.misses = 0, 0, 0
	s.which, s.rawLens, s.raw = s.which[:0], s.rawLens[:0], s.raw[:0]
}

// add takes a document, unless it is not valid. Only what no shape covers is shown to valid.
func (s *splitter) add(doc []byte, valid func([]byte) bool) bool {
	if s.misses < patience && s.known(doc, valid) {
		s.misses = 0
		return true
	}
	if !valid(doc) {
		return false
	}
	s.misses++
	if s.n < maxShapes && s.shapes[s.n].learn(doc) && s.shapes[s.n].match(doc, &s.found, valid) {
		s.take(s.n, doc)
		s.n++
		return true
	}
	s.which = append(s.which, 0)
	s.rawLens = binary.AppendUvarint(s.rawLens, uint64(len(doc))<<1)
	s.raw = append(s.raw, doc...)
	return true
}

// known takes a document that has the shape of an earlier one, most likely that of the last.
func (s *splitter) known(doc []byte, valid func([]byte) bool) bool {
	for i := range s.n {
		if i = (s.last + i) % s.n; s.shapes[i].match(doc, &s.found, valid) {
			s.take(i, doc)
			return true
		}
	}
	return false
}

// take puts the values that were found into the columns of a shape.
func (s *splitter) take(i int, doc []byte) {
	cols := s.shapes[i].cols
	for c := range cols {
		v, col := s.found[c], &cols[c]
		size := uint64(v.to-v.from) << 1
		if v.text {
			size |= 1
		}
		col.lens = binary.AppendUvarint(col.lens, size)
		col.values = append(col.values, doc[v.from:v.to]...)
	}
	s.last = i
	s.which = append(s.which, byte(i+1))
}

// append writes the columns in order, as [Codec.Seal] describes them.
func (s *splitter) append(dst, idLens, ids []byte) []byte {
	mixed := uint64(0)
	if s.n > 1 || s.n == 1 && len(s.rawLens) > 0 {
		mixed = 1
	}
	dst = binary.AppendUvarint(dst, uint64(s.n)<<1|mixed)
	shapes := s.shapes[:s.n]
	for i := range shapes {
		dst = binary.AppendUvarint(dst, uint64(len(shapes[i].cols)))
		for _, part := range shapes[i].parts {
			dst = binary.AppendUvarint(dst, uint64(len(part)))
			dst = append(dst, part...)
		}
	}
	if mixed == 1 {
		dst = append(dst, s.which...)
	}
	dst = append(dst, idLens...)
	dst = append(dst, s.rawLens...)
	for i := range shapes {
		for c := range shapes[i].cols {
			dst = append(dst, shapes[i].cols[c].lens...)
		}
	}
	dst = append(dst, s.raw...)
	for i := range shapes {
		for c := range shapes[i].cols {
			dst = append(dst, shapes[i].cols[c].values...)
		}
	}
	return append(dst, ids...)
}
