package block

import "encoding/binary"

// PackAnswers packs, for an item of a retry, the answers of the first steps, which it need not
// pass again: each with its length before it, in order; nil for none at all.
func PackAnswers(outputs [][]byte, steps int) []byte {
	none := true
	for _, o := range outputs[:min(steps, len(outputs))] {
		none = none && len(o) == 0
	}
	if none {
		return nil
	}
	var raw []byte
	for i := range steps {
		var o []byte
		if i < len(outputs) {
			o = outputs[i]
		}
		raw = binary.AppendUvarint(raw, uint64(len(o)))
		raw = append(raw, o...)
	}
	return raw
}

// CarriedAnswer returns the answer of a step, from what PackAnswers returned.
func CarriedAnswer(raw []byte, step int) []byte {
	for at := 0; len(raw) > 0; at++ {
		n, used := binary.Uvarint(raw)
		if used <= 0 || n > uint64(len(raw)-used) {
			return nil
		}
		if at == step {
			return raw[used : used+int(n)]
		}
		raw = raw[used+int(n):]
	}
	return nil
}
