package demo

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"github.com/weirhq/weir"
)

// People makes n customers as items: {"user_id","country","plan"}, with the ids user-1 to user-n.
func People(n int) iter.Seq[weir.RawItem] {
	return func(yield func(weir.RawItem) bool) {
		for i := range n {
			id := "user-" + strconv.Itoa(i+1)
			if !yield(weir.RawItem{ID: id, Value: person(id, i)}) {
				return
			}
		}
	}
}

func person(id string, n int) json.RawMessage {
	plan := "free"
	if mix(hash(7, id))%4 == 0 {
		plan = "pro"
	}
	return fmt.Appendf(nil, `{"user_id":%q,"country":%q,"plan":%q}`, id, makeUser(7, n).country, plan)
}

// cartUsers is how many people left something in their cart.
const cartUsers = 120

// Carts answers as a segment does: a page of JSON with those who left something in their cart.
func Carts(w http.ResponseWriter, _ *http.Request) {
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	for it := range People(cartUsers) {
		page.Items = append(page.Items, it.Value)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page) // a caller that hung up asks again
}
