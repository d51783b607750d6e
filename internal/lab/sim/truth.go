package sim

import (
	"math/rand/v2"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
)

// maxSteps is the longest chain that is simulated.
const maxSteps = 3

// truth is what the simulation knows of a bulk action: what was asked for, what
// the downstream answered, and what was committed. The machines never see it.
type truth struct {
	no        int
	partition int
	spec      partition.Created
	steps     []weir.Step
	starts    []int // index of the first item of each block
	items     []itemTruth
	poison    int  // item that makes every task fail; -1: none
	deadly    int  // item that ends the process; -1: none
	deaths    int  // processes that it ended
	acked     bool // the submitter was told that it is accepted

	created  bool              // by a commit
	inIndex  map[string]string // rows of the index
	active   bool              // marked as not ended
	status   partition.Status
	head     string // of the status row as it was read last
	fresh    bool   // the last status row was read
	finished int    // commits that showed it as ended
	blocks   []block.State
	place    []int   // shared: 1 + the partition that has rows of each block; 0: none has
	written  []place // where its blocks are, if it adopted some; nil: under its id
	passed   [maxSteps]int64
	failed   int64
	leftOut  int64
	groups   map[string]int64 // failures by the row that counts them
	grouped  int64            // in all of them
	seen     weir.Progress    // what a client saw last
	viewed   bool
	survived bool             // had an owner before
	underWay map[*call]bool   // tasks in flight
	keys     map[string]int32 // first user of each key

	users     *rand.Rand         // who decides about it
	phase     int                // of its canary, by a commit
	was       weir.BulkState     // before the last commit that wrote its status
	wasAt     uint64             // the number of that
	fromStart bool               // that was its first one
	notices   map[uint64]*notice // its events, by number
	tooLate   bool               // one of them says that its deadline will not be met
	changes   []*weir.Rules      // that lie or lay in the inbox
	versions  []ruleTruth        // the rules after so many of them
	changed   int                // how many of them were acknowledged
	changedAt int64              // when the last one was
	late      bool               // one was when it had ended, or nearly: it may have no effect
	specs     map[int]bool       // partitions that have its spec
	stored    map[int]int        // by partition: how many changes that has
	bounds    *boundTruth
}

// itemTruth is one item.
type itemTruth struct {
	steps [maxSteps]stepTruth
	known again // what its owner knows and the store may not
}

// stepTruth is one item at one step.
type stepTruth struct {
	calls     int
	refused   int
	losses    int    // calls that were lost with their owners
	successes int    // that the downstream gave
	codes     uint16 // set of failures that a call returned
	output    uint32 // number of the call whose output is committed; 0: none
	lastOwner *owner
	last      uint32 // number of the last call of a rightful owner
	loose     int    // calls whose results no commit has

	unfiltered bool // the step's filter failed
}

// again is what the result of an attempt made due.
type again struct {
	owner     int
	commit    uint64 // number of the commit that carries it
	call      uint32
	step      int
	low, high int // attempt to come
	notBefore int64
	notAfter  int64
	waits     bool
}

func newTruth(no, part int, c partition.Created, steps []weir.Step) *truth {
	b := &truth{
		no: no, partition: part, spec: c, steps: steps, items: make([]itemTruth, c.Items), poison: -1, deadly: -1,
		blocks: make([]block.State, len(c.Sizes)), underWay: map[*call]bool{},
	}
	at := 0
	for i, n := range c.Sizes {
		b.starts = append(b.starts, at)
		at += int(n)
		b.blocks[i] = block.State{Size: int(n), Passed: make([]block.Set, len(steps))}
		for s := range c.FirstStep {
			b.blocks[i].Passed[s].Fill(int(n))
			b.passed[s] += int64(n)
		}
	}
	return b
}

// index returns the item's place in b.items.
func (b *truth) index(blockNo uint32, item uint16) int { return b.starts[blockNo] + int(item) }

// state returns the committed state.
func (b *truth) state() weir.BulkState { return b.status.State }

func (b *truth) ended() int64 { return b.passed[len(b.steps)-1] + b.failed + b.leftOut }

// retry returns the committed wait of an item at a step, if there is one.
func (b *truth) retry(blockNo uint32, item uint16, step int) *block.Retry {
	rs := b.blocks[blockNo].Retries
	for i := range rs {
		if int(rs[i].Step) == step && rs[i].Items.Has(int(item)) {
			return &rs[i]
		}
	}
	return nil
}

// output returns what the downstream answers for an item: it names bulk action, step,
// item and call, so that it can be told apart from every other.
func (b *truth) output(step, item int, call uint32) []byte {
	out := append(make([]byte, 0, 24), '"')
	for _, v := range [...]int{b.no, step, item} {
		out = append(strconv.AppendInt(out, int64(v), 10), '.')
	}
	return append(strconv.AppendUint(out, uint64(call), 10), '"')
}

// callOf reads the number of the call from an output, and checks whose it is.
func (b *truth) callOf(step, item int, out []byte) (uint32, bool) {
	base := b.output(step, item, 0)
	base = base[:len(base)-2]
	if len(out) <= len(base)+1 || string(out[:len(base)]) != string(base) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(out[len(base):len(out)-1]), 10, 32)
	return uint32(n), err == nil
}

// The failures that a task or an item can show, as bits.
var codes = []string{"no", "gave_up", "no_result", "poison", "boom", "timeout", partition.CodeCrashedNode}

func codeBit(code string) uint16 {
	for i, c := range codes {
		if c == code {
			return 1 << i
		}
	}
	return 0
}
