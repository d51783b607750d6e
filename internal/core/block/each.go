package block

import "encoding/binary"

// Each calls yield for every item in order, until it returns an error, which
// Each returns. id and data are valid until the next Reset.
func (b *Builder) Each(yield func(i int, id, data []byte) error) error {
	idLens, dataLens, ids, data := b.idLens, b.dataLens, b.ids, b.data
	for i := range b.n {
		idLen, n := binary.Uvarint(idLens)
		dataLen, m := binary.Uvarint(dataLens)
		dataLen >>= 1
		idLens, dataLens = idLens[n:], dataLens[m:]
		if err := yield(i, ids[:idLen:idLen], data[:dataLen:dataLen]); err != nil {
			return err
		}
		ids, data = ids[idLen:], data[dataLen:]
	}
	return nil
}
