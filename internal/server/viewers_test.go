package server

import (
	"fmt"
	"testing"
)

// TestLivePagesAreSharedBetweenTenantsAndKeys opens pages on a node that has few places, and looks at who has how many.
func TestLivePagesAreSharedBetweenTenantsAndKeys(t *testing.T) {
	type opening struct {
		tenant, key string
		pages       int
	}
	tests := []struct {
		name string
		open []opening
		want string // by tenant and key
	}{
		{"one key may have all places that are free", []opening{{"a", "a1", 10}}, "map[a/a1:8]"},
		{"another tenant gets half of them", []opening{{"a", "a1", 10}, {"b", "b1", 10}}, "map[a/a1:4 b/b1:4]"},
		{"what a tenant does not need stays with the other", []opening{{"a", "a1", 10}, {"b", "b1", 1}}, "map[a/a1:7 b/b1:1]"},
		{"many keys of a tenant are one tenant", []opening{{"a", "a1", 3}, {"a", "a2", 3}, {"a", "a3", 3}, {"b", "b1", 10}}, "map[a/a1:1 a/a2:1 a/a3:2 b/b1:4]"},
		{"another key of a tenant gets a part of it", []opening{{"a", "a1", 10}, {"a", "a2", 10}}, "map[a/a1:4 a/a2:4]"},
		{"a key of all tenants counts as a tenant", []opening{{"", "root", 10}, {"b", "b1", 10}}, "map[/root:4 b/b1:4]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, has := &viewers{most: 8}, map[string]int{}
			for _, o := range tt.open {
				var tenants []string
				if o.tenant != "" {
					tenants = []string{o.tenant}
				}
				for range o.pages {
					s.take(o.key, tenants)
				}
			}
			for _, v := range s.list {
				has[v.tenant+"/"+v.key]++
			}
			if got := fmt.Sprint(has); got != tt.want || len(s.list) > 8 {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestAPlaceIsGivenBackOnce(t *testing.T) {
	s := &viewers{most: 1}
	end, lost := s.take("a1", nil)
	end()
	end()
	if _, other := s.take("b1", []string{"b"}); other == nil {
		t.Error("the place is not free again")
	}
	select {
	case <-lost:
		t.Error("a place that was given back is lost")
	default:
	}
}
