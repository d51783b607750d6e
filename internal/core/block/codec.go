package block

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Bounds on what is opened, so that a forged or broken header cannot make the reader reserve
// memory without limit.
const (
	// maxGrowth is the most that zstd unpacks per packed byte: a block of 128 KiB out of four bytes.
	maxGrowth = 128 << 10 / 4
	// maxPlain is the most bytes that are compressed together.
	maxPlain = 1 << 30
	// slack behind the unpacked bytes lets the decoder copy in whole words.
	slack = 16
)

// Codec compresses and decompresses. It is safe for use by several goroutines.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// NewCodec returns a codec. Close frees what it holds.
func NewCodec() (*Codec, error) { return newCodec(zstd.SpeedFastest) }

func newCodec(level zstd.EncoderLevel) (*Codec, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false), // seal has one over the whole
		zstd.WithSingleSegment(true),
		zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0), // as many as there are processors
		zstd.WithDecoderMaxMemory(maxPlain),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return &Codec{enc, dec}, nil
}

// Close frees the codec's memory. The codec must not be used afterwards.
func (c *Codec) Close() {
	_ = c.enc.Close() // has nothing to flush: EncodeAll alone is used
	c.dec.Close()
}

// compress appends src, compressed.
func (c *Codec) compress(dst, src []byte) []byte { return c.enc.EncodeAll(src, dst) }

// decompress returns the size bytes that were compressed into packed.
func (c *Codec) decompress(packed []byte, size int, what string) ([]byte, error) {
	if size > maxPlain || size > len(packed)*maxGrowth {
		return nil, corrupt("%s claims to unpack %d bytes out of %d", what, size, len(packed))
	}
	plain, err := c.dec.DecodeAll(packed, make([]byte, 0, size+slack))
	if err != nil {
		return nil, corrupt("%s does not decompress: %v", what, err)
	}
	if len(plain) != size {
		return nil, corrupt("%s unpacks to %d bytes, want %d", what, len(plain), size)
	}
	return plain, nil
}
