package capacity

import (
	"fmt"
	"math"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/sched"
)

// crew is some nodes that use one resource and tell each other what they have to run.
type crew struct {
	parties []*Party
	got     map[string]float64 // by tenant
}

// flood is endless work of a tenant on one of the nodes.
type flood struct {
	tenant string
	tier   int
	weight float64
	node   int
}

func newCrew(nodes int, floods []flood) *crew {
	c := &crew{got: map[string]float64{}}
	for range nodes {
		n := New(Config{NoFlow: true})
		c.parties = append(c.parties, openParty(n, hour))
	}
	for _, f := range floods {
		p := c.parties[f.node]
		p.SetTenant(hour, f.tenant, TenantLimits{Weight: f.weight})
		e := p.AddEntry(p.AddBulk(f.tenant, sched.BulkConfig{Tier: f.tier, Submit: hour}), p.Resource(weir.Resource{Name: "api"}), 0, f.tenant)
		p.Update(hour, e, 1, math.MaxInt32)
	}
	return c
}

// meet has the nodes tell each other what they have to run.
func (c *crew) meet() {
	wants := make([]Wants, len(c.parties))
	for i, p := range c.parties {
		wants[i] = p.node.Wants(hour)
	}
	for i, p := range c.parties {
		p.node.SetBeside(Gather(append(append([]Wants{}, wants[:i]...), wants[i+1:]...)))
	}
}

// run starts items: each node as many as go with its part of the whole, as the leader gives them out.
func (c *crew) run(items int) {
	all := 0.0
	for _, p := range c.parties {
		all += p.Resource(weir.Resource{Name: "api"}).entry.Part()
	}
	for _, p := range c.parties {
		share := int(math.Round(float64(items) * p.Resource(weir.Resource{Name: "api"}).entry.Part() / all))
		for range share {
			pick, ok := p.Next(hour)
			if !ok {
				panic("nothing to run")
			}
			c.got[pick.Entry.Data.(string)]++
			p.Done(hour, pick, &Ending{Silent: true, Service: 1})
			p.Update(hour, pick.Entry, 1, math.MaxInt32)
		}
	}
}

func (c *crew) share(tenant string) float64 {
	sum := 0.0
	for _, n := range c.got { // a sum of whole numbers: order does not reach it
		sum += n
	}
	return c.got[tenant] / sum
}

func TestNodesTogetherKeepOneOrder(t *testing.T) {
	low := func(n, from int) (fs []flood) {
		for i := range n {
			fs = append(fs, flood{fmt.Sprintf("low%d", from+i), 3, 1, i % 3})
		}
		return fs
	}
	for _, tt := range []struct {
		name   string
		floods []flood
		want   map[string]float64
	}{
		{"four tiers, each on a node of its own or beside another", []flood{
			{"critical", 0, 1, 0}, {"high", 1, 1, 1}, {"default", 2, 1, 2}, {"low", 3, 1, 2},
		}, map[string]float64{"critical": 6. / 12, "high": 3. / 12, "default": 2. / 12, "low": 1. / 12}},
		{
			"a critical tenant beside another's low ones, and one alone", append(low(4, 0), flood{"a", 0, 1, 0}, flood{"b", 0, 1, 1}),
			map[string]float64{"a": 3. / 7, "b": 3. / 7, "low0": 1. / 28, "low3": 1. / 28},
		},
		{
			"weights 5:2:1 over nodes",
			[]flood{{"five", 2, 5, 0}, {"two", 2, 2, 1}, {"one", 2, 1, 0}},
			map[string]float64{"five": 5. / 8, "two": 2. / 8, "one": 1. / 8},
		},
		{
			"a tenant on all three nodes, and one on the first",
			[]flood{{"wide", 2, 1, 0}, {"wide", 2, 1, 1}, {"wide", 2, 1, 2}, {"other", 2, 1, 0}},
			map[string]float64{"wide": 1. / 2, "other": 1. / 2},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCrew(3, tt.floods)
			c.meet()
			c.meet() // what a tenant has where is known after the first
			c.run(84_000)
			for tenant, want := range tt.want {
				if got := c.share(tenant); math.Abs(got-want) > 0.01*want {
					t.Errorf("%s got %.4f of the resource, want %.4f", tenant, got, want)
				}
			}
		})
	}
}

func TestATenantThatIsOnOneNodeAgainHasAllOfItsWeightThere(t *testing.T) {
	c := newCrew(2, []flood{{"wide", 2, 1, 0}, {"wide", 2, 1, 1}, {"other", 2, 1, 0}})
	c.meet()
	first := c.parties[0].node
	first.SetBeside(Gather(nil))
	c.parties = c.parties[:1]
	c.run(10_000)
	if got := c.share("wide"); math.Abs(got-0.5) > 0.01 {
		t.Errorf("it got %.3f beside one other, want a half", got)
	}
	if n := first.Wants(hour + stayFor + 1)["api"]; len(n.Tenants) != 2 {
		t.Errorf("tenants with work: %v, want both", n.Tenants)
	}
}

// Without a rate it is slots that are shared: four tenants have a node each, and a fifth has work on all of them.
func TestATenantOnSeveralNodesHasItsWeightOnceForSlots(t *testing.T) {
	const nodes, turns = 4, 4000
	got, wants := map[string]int{}, make([]Wants, nodes)
	parties, running := make([]*Party, nodes), make([][]sched.Pick, nodes)
	for i := range nodes {
		parties[i] = openParty(New(Config{Slots: 4, NoFlow: true}), hour)
		for _, tenant := range []string{"wide", fmt.Sprint("own", i)} {
			work(parties[i], hour, tenant, weir.Resource{Name: "free"}, math.MaxInt32)
		}
		wants[i] = parties[i].node.Wants(hour)
	}
	for i, p := range parties {
		p.node.SetBeside(Gather(append(append([]Wants{}, wants[:i]...), wants[i+1:]...)))
		for turn := range turns {
			now := hour + int64(turn)*1e6
			for _, pick := range takeAll(p, now, math.MaxInt32) {
				got[pick.Entry.Bulk().Tenant().Name()]++
				running[i] = append(running[i], pick)
			}
			p.Done(now, running[i][0], &Ending{Service: 4e6})
			running[i] = running[i][1:]
		}
	}
	if n := got["wide"]; math.Abs(float64(n)/(nodes*turns)-0.2) > 0.01 {
		t.Errorf("the tenant on all nodes got %d of %d turns, want a fifth: %v", n, nodes*turns, got)
	}
}

// A tenant that is on two nodes and has an urgent deadline on one of them gets what it is due there.
// Others get what they got before.
func TestATenantsWeightGoesWhereItsDeadlinesAre(t *testing.T) {
	c := newCrew(2, []flood{{"a", 2, 1, 0}, {"a", 2, 1, 1}, {"b", 2, 1, 0}, {"b", 2, 1, 1}})
	for _, p := range c.parties {
		p.node.SetLimits(hour, weir.Resource{Name: "api", Rate: 1e6})
	}
	c.meet()
	p := c.parties[0]
	g := p.AddBulk("a", sched.BulkConfig{Tier: 2, Submit: hour, Deadline: hour + 12e9})
	p.Update(hour, p.AddEntry(g, p.Resource(weir.Resource{Name: "api"}), 0, "due"), 1, math.MaxInt32)
	if o := p.Look(hour, g, sched.Rest{Pending: []int64{4e6}}); o.Late || !o.Urgent {
		t.Fatalf("4,000,000 items in 12 s, where the tenant is due 500,000/s: %+v", o)
	}
	c.meet()
	c.meet()
	c.run(20_000)
	if got := c.share("due"); got < 0.44 || got > 0.47 {
		t.Errorf("what is urgent gets %.3f, want nearly the half that is its tenant's", got)
	}
	if got := c.share("b"); math.Abs(got-0.5) > 0.005 {
		t.Errorf("another tenant gets %.3f, want half", got)
	}
}
