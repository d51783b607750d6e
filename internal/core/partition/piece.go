package partition

import "github.com/weirhq/weir"

// SealPiece adds a checksum over id, number and content to a piece of a file, as rows have it.
func SealPiece(id weir.BulkID, no uint32, piece []byte) []byte {
	return seal(blockKey(id, no), append(make([]byte, 0, len(piece)+4), piece...)).Value
}

// UnsealPiece checks and removes what SealPiece added.
func UnsealPiece(id weir.BulkID, no uint32, sealed []byte) ([]byte, error) {
	return unseal(blockKey(id, no), sealed)
}
