package partition

import "testing"

// A submitter that found a bulk action neither in the rows nor in the inbox submits it again. Meanwhile it may have come
// to its end here.
func TestABulkActionThatIsSubmittedAgainRunsOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		again func(c *cluster, send func())
	}{
		{"while it runs", func(c *cluster, send func()) {
			c.sites[0].turn()
			send()
		}},
		{"while the commit with its end gathers", func(c *cluster, send func()) {
			s := c.sites[0]
			s.turn()
			s.end(0, true)
			send()
		}},
		{"while the commit with its end is written", func(c *cluster, send func()) {
			s := c.sites[0]
			s.turn()
			s.end(0, true)
			s.confirm()
			s.turn()
			send()
		}},
		{"right after its end", func(c *cluster, send func()) {
			s := c.sites[0]
			s.turn()
			s.end(0, true)
			for range 3 {
				s.confirm()
				s.turn()
			}
			send()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, 1)
			c.chains["one"] = steps(1, 4)
			spec := Created{ID: "ba_0", Tenant: "t", Chain: "one", Steps: []string{"s0"}, Items: 1, Submitted: c.now}
			b := c.add(0, &spec)
			started := 0
			tt.again(c, func() {
				started = len(c.sites[0].running)
				twice := *wholeOf(&spec)
				twice.Again = true
				c.append(0, envelope{Created: &twice})
			})
			for range 3 {
				c.sites[0].turn()
				c.sites[0].confirm()
			}
			if n := len(c.sites[0].running); n > started {
				t.Errorf("%d tasks run after the second message, want %d", n, started)
			}
			c.finish()
			if b.ends != 1 {
				t.Errorf("it ended %d times", b.ends)
			}
		})
	}
}
