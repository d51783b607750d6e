package demo

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/weirhq/weir"
)

//go:generate go run ./usersgen ../../../examples/rewards/users.csv

// Rows of the file that [WriteUsers] writes.
const (
	userRows      = 10_000
	duplicateRows = 12
	duplicateGap  = 799 // rows between two duplicates
)

// countries are those that users come from; more often the earlier ones.
var countries = [...]string{"DE", "FR", "ES", "IT", "PL", "NL", "SE", "AT", "PT", "DK", "FI", "IE"}

type user struct {
	id      string
	amount  uint64
	country string
}

// makeUser makes the n-th user of a seed.
func makeUser(seed uint64, n int) user {
	r := mix(hash(seed, strconv.Itoa(n)))
	most := uint64(len(countries))
	country := (r >> 8 % most) * (r >> 24 % most) / (most - 1) // a product leans to the low end
	return user{fmt.Sprintf("u%07d", n+1), 5 + r>>40%20*5, countries[country]}
}

// Items makes n users as items: {"user_id","amount","country"}, the same for
// the same seed.
func Items(n int, seed uint64) iter.Seq[weir.RawItem] {
	return func(yield func(weir.RawItem) bool) {
		for i := range n {
			u := makeUser(seed, i)
			doc := fmt.Appendf(nil, `{"user_id":%q,"amount":%d,"country":%q}`, u.id, u.amount, u.country)
			if !yield(weir.RawItem{ID: u.id, Value: doc}) {
				return
			}
		}
	}
}

// WriteUsers writes the users of the rewards example: user_id, amount, country
// and email in 10,000 rows, of which 12 repeat an id that came before.
func WriteUsers(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("user_id,amount,country,email\n")
	for row, made := 0, 0; row < userRows; row++ {
		n := made
		if row%duplicateGap == duplicateGap-1 && row/duplicateGap < duplicateRows {
			n = made / 2 // comes again
		} else {
			made++
		}
		u := makeUser(1, n)
		fmt.Fprintf(b, "%s,%d,%s,%s@example.com\n", u.id, u.amount, u.country, u.id)
	}
	return b.Flush()
}
