// Package jsonsize estimates what a JSON text costs to decode, before anything
// is built of it. Eight MiB of "{}," take a gigabyte as Go values.
package jsonsize

// Parts counts the names, values and brackets of a JSON text, and stops soon
// after most. The text need not be valid: decoders that read it later refuse it.
// It allocates nothing.
func Parts(text []byte, most int) (parts int) {
	for i := 0; i < len(text) && parts <= most; i++ {
		switch text[i] {
		case ',', ':':
			parts++
		case '{', '[':
			parts += 2 // itself, and what may be in it
		case '"':
			i = stringEnd(text, i)
		}
	}
	return parts
}

// stringEnd returns where the string that begins at i ends.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
