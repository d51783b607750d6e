package block

import (
	"encoding/binary"
	"slices"
)

// Kind is the type of a Result.
type Kind uint8

// The kinds of result.
const (
	Output  Kind = iota // the item succeeded and the action gave an output
	Failure             // the item failed for good
	LeftOut             // the action left the item out
	kinds
)

// Result is an action's answer for one item of a block.
type Result struct {
	Item     uint16
	Step     uint8
	Attempts uint8
	Kind     Kind
	Code     string
	Message  string
	Output   []byte
	At       int64 // of the commit that has it, unix nanoseconds, to the millisecond
}

// compressAbove is the size in bytes from which on results are compressed: below it zstd's own
// tables cost about what they save.
const compressAbove = 200

const millisecond = 1_000_000 // in nanoseconds

// How the body of packed results is written.
const (
	bodyPlain = iota
	bodyZstd
)

// SealResults appends the results of one block in one commit: the commit's time
// in milliseconds, a byte that says whether the body is compressed, the body's
// size if so, and the body: number of results, then result after result. A code
// or message is a number in the dictionary of texts seen so far, and is followed
// by the text when it is new. at counts for all results and replaces their own At.
//
// The spare room of dst is used as scratch.
func (c *Codec) SealResults(dst []byte, at int64, rs []Result) []byte {
	start := len(dst)
	dst = binary.AppendVarint(begin(dst, magicResults), at/millisecond)
	dst = append(dst, bodyPlain)
	head := len(dst)
	dst = appendResults(dst, rs)
	if size := len(dst) - head; size > compressAbove && size <= maxPlain {
		dst = c.squeeze(dst, head)
	}
	seal(dst[start:])
	return dst
}

// squeeze replaces the body from head on by its compressed form, if that is shorter.
func (c *Codec) squeeze(dst []byte, head int) []byte {
	size, end := len(dst)-head, len(dst)
	out := binary.AppendUvarint(dst, uint64(size))
	out = c.compress(out, dst[head:end])
	if len(out)-end >= size {
		return dst
	}
	out[head-1] = bodyZstd
	return append(out[:head], out[end:]...)
}

func appendResults(dst []byte, rs []Result) []byte {
	var d dictionary
	item := 0
	dst = binary.AppendUvarint(dst, uint64(len(rs)))
	for i := range rs {
		r := &rs[i]
		dst = binary.AppendVarint(dst, int64(int(r.Item)-item))
		dst = append(dst, r.Step, r.Attempts, byte(r.Kind))
		dst = d.append(dst, r.Code)
		dst = d.append(dst, r.Message)
		dst = binary.AppendUvarint(dst, uint64(len(r.Output)))
		dst = append(dst, r.Output...)
		item = int(r.Item)
	}
	return dst
}

// EachResult calls yield for the results in the order in which they were sealed,
// and returns yield's first error. Output aliases raw or memory of its own: it
// may be kept as long as raw does not change. Other errors wrap ErrCorrupt.
func (c *Codec) EachResult(raw []byte, yield func(Result) error) error {
	body, err := unseal(raw, magicResults, "results")
	if err != nil {
		return err
	}
	r := reader{rest: body}
	at := r.varint() * millisecond
	switch how := r.byte(); {
	case how == bodyZstd:
		size := r.upTo(maxPlain)
		if r.rest, err = c.decompress(r.rest, size, "results"); err != nil {
			return err
		}
	case how != bodyPlain:
		return corrupt("results are written in the unknown way %d", how)
	}
	return eachResult(&r, at, yield)
}

func eachResult(r *reader, at int64, yield func(Result) error) error {
	texts := []string{""}
	item := int64(0)
	n := r.upTo(len(r.rest))
	for i := range n {
		item += r.varint()
		res := Result{Item: uint16(item), Step: r.byte(), Attempts: r.byte(), Kind: Kind(r.byte()), At: at}
		res.Code = r.text(&texts)
		res.Message = r.text(&texts)
		res.Output = r.bytes(r.upTo(len(r.rest)))
		if r.bad || item < 0 || item >= Size || res.Kind >= kinds {
			return corrupt("results: number %d of %d does not read", i+1, n)
		}
		if err := yield(res); err != nil {
			return err
		}
	}
	if r.bad || len(r.rest) > 0 {
		return corrupt("results: %d bytes left over", len(r.rest))
	}
	return nil
}

// text reads a text's number and, when it is new, the text.
func (r *reader) text(texts *[]string) string {
	i := r.upTo(len(*texts))
	if i == len(*texts) {
		*texts = append(*texts, string(r.bytes(r.upTo(len(r.rest)))))
	}
	return (*texts)[i]
}

// dictionary numbers texts in the order in which they come. The empty text is 0.
type dictionary struct {
	few  []string       // the first texts: most commits have no more
	many map[string]int // the texts after those
}

// maxFew texts are compared one by one before a map is worth its memory.
const maxFew = 8

func (d *dictionary) append(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, 0)
	}
	if i := slices.Index(d.few, text); i >= 0 {
		return binary.AppendUvarint(dst, uint64(i+1))
	}
	if i, ok := d.many[text]; ok {
		return binary.AppendUvarint(dst, uint64(i+1))
	}
	dst = binary.AppendUvarint(dst, uint64(d.add(text)+1))
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// add numbers a new text.
func (d *dictionary) add(text string) int {
	if len(d.few) < maxFew {
		d.few = append(d.few, text)
		return len(d.few) - 1
	}
	if d.many == nil {
		d.many = make(map[string]int)
	}
	n := maxFew + len(d.many)
	d.many[text] = n
	return n
}
