package virtual

import "math/rand/v2"

// Chance returns a stream of random numbers of its own: a draw from one stream shifts no
// other of the same seed.
func Chance(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// Named is [Chance] with a stream for a purpose, of which there may be several.
func Named(seed uint64, purpose string, no int) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return Chance(seed, h+uint64(no))
}
