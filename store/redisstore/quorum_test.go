package redisstore

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// view is CLUSTER NODES as one of a, b and c says it, primaries with a replica
// each: ra, rb, rc. changes replace the flags of nodes, as in "ra=slave,fail".
func view(by string, changes ...string) []clusterNode {
	flags := map[string]string{"a": "master", "b": "master", "c": "master", "ra": "slave", "rb": "slave", "rc": "slave"}
	slots := map[string]string{"a": "0-5460", "b": "5461-10922", "c": "10923-16383"}
	for _, c := range changes {
		node, to, _ := strings.Cut(c, "=")
		to, owned, _ := strings.Cut(to, " ")
		flags[node] = to
		slots[node] = owned
	}
	var text strings.Builder
	text.WriteString("txt:") // as the client hands it on
	for _, id := range slices.Sorted(maps.Keys(flags)) {
		of := "-"
		if strings.Contains(flags[id], "slave") {
			of = strings.TrimPrefix(id, "r")
		}
		mine := flags[id]
		if id == by {
			mine = "myself," + mine
		}
		text.WriteString(id + " 127.0.0.1:1@2,host " + mine + " " + of + " 0 1700000000000 3 connected " + slots[id] + "\n")
	}
	return parseNodes(text.String())
}

func TestWhoIsThePrimaryOfACluster(t *testing.T) {
	promoted := []string{"a=master,fail", "ra=master 0-5460"}
	for _, tt := range []struct {
		name         string
		views        [][]clusterNode
		id           string
		confirmed    bool
		alive, known int
	}{
		{"all agree", [][]clusterNode{view("a"), view("b"), view("c")}, "a", true, 1, 1},
		{"two of three agree", [][]clusterNode{view("a"), view("b")}, "a", true, 1, 1},
		{"a primary alone does not confirm itself", [][]clusterNode{view("a")}, "a", false, 1, 1},
		{"what replicas say does not count", [][]clusterNode{view("a"), view("ra"), view("rb"), view("rc")}, "a", false, 1, 1},
		{"one who suspects it does not confirm it", [][]clusterNode{view("a"), view("b", "a=master,fail? 0-5460")}, "a", false, 1, 1},
		{"a replica that one suspects is alive", [][]clusterNode{view("a", "ra=slave,fail?"), view("b", "ra=slave,fail?")}, "a", true, 1, 1},
		{"a replica that failed is known", [][]clusterNode{view("a", "ra=slave,fail"), view("b", "ra=slave,fail")}, "a", true, 0, 1},
		{"a replica that one takes for alive is alive", [][]clusterNode{view("a", "ra=slave,fail"), view("b")}, "a", true, 1, 1},
		{"a promoted replica with its dead primary", [][]clusterNode{view("ra", promoted...), view("b", promoted...)}, "ra", true, 0, 1},
		{"a primary that lost its slots", [][]clusterNode{view("a"), view("b", promoted...), view("c", promoted...)}, "a", false, 1, 1},
		{"a promoted replica of whom one has not heard", [][]clusterNode{view("ra", promoted...), view("b", promoted...), view("c")}, "ra", true, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			confirmed, alive, known := confirm(tt.views, tt.id)
			if confirmed != tt.confirmed || alive != tt.alive || known != tt.known {
				t.Errorf("confirm() = %v, %d, %d; want %v, %d, %d", confirmed, alive, known, tt.confirmed, tt.alive, tt.known)
			}
		})
	}
}

func TestWhoIsThePrimaryOfASentinelSet(t *testing.T) {
	says := func(primary string, replicas map[string]follower) sentinelAnswer {
		return sentinelAnswer{primary: primary, replicas: replicas, others: 2, noticed: time.Minute}
	}
	both := map[string]follower{"r1": {true, true}, "r2": {true, true}}
	one := map[string]follower{"r1": {true, true}, "r2": {false, false}}
	afterwards := map[string]follower{"p": {true, false}, "r2": {true, true}} // p's death is not noticed yet
	back := map[string]follower{"p": {true, true}, "r2": {true, true}}
	for _, tt := range []struct {
		name      string
		named     []string // primaries before
		answers   []sentinelAnswer
		of        string
		confirmed bool
		alive     int
	}{
		{"all agree", nil, []sentinelAnswer{says("p", both), says("p", both), says("p", both)}, "p", true, 2},
		{"two of three agree", nil, []sentinelAnswer{says("p", both), says("p", one)}, "p", true, 2},
		{"one of three is not a majority, though it alone answers", nil, []sentinelAnswer{says("p", both)}, "p", false, 2},
		{"two doubt it", nil, []sentinelAnswer{says("p", both), says("", both), says("", both)}, "p", false, 2},
		{"they name another", nil, []sentinelAnswer{says("p", both), says("r1", afterwards), says("r1", afterwards)}, "p", false, 2},
		{"a replica is down", nil, []sentinelAnswer{says("p", one), says("p", one)}, "p", true, 1},
		{"the former primary is not waited for", []string{"p"}, []sentinelAnswer{says("r1", afterwards), says("r1", afterwards)}, "r1", true, 1},
		{"until it follows the new one", []string{"p"}, []sentinelAnswer{says("r1", back), says("r1", back)}, "r1", true, 2},
		{"one who has not seen the failover waits for it", nil, []sentinelAnswer{says("r1", afterwards), says("r1", afterwards)}, "r1", true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &sentinels{named: map[string]bool{}}
			for _, address := range tt.named {
				q.named[address] = true
			}
			s := sight{address: tt.of}
			q.confirm(&s, tt.answers)
			if s.confirmed != tt.confirmed || s.alive != tt.alive || s.noticedIn != time.Minute {
				t.Errorf("confirmed %v, alive %d, noticed in %v; want %v, %d, 1m", s.confirmed, s.alive, s.noticedIn, tt.confirmed, tt.alive)
			}
		})
	}
}

func TestReplicasThatAServerTellsOf(t *testing.T) {
	info := fields("role:master\r\nconnected_slaves:3\r\n" +
		"slave0:ip=10.0.0.7,port=6379,state=online,offset=1400,lag=0\r\n" +
		"slave1:ip=10.0.0.8,port=6379,state=wait_bgsave,offset=0,lag=0\r\n" +
		"slave2:ip=10.0.0.9,port=6379,state=online,offset=7,lag=1,type=replica\r\n")
	if got := onlineReplicas(info); !slices.Equal(got, []int64{1400, 7}) {
		t.Errorf("online replicas = %v, want offsets 1400 and 7", got)
	}
	if got := replicaAddresses(info); !slices.Equal(got, []string{"10.0.0.7:6379", "10.0.0.8:6379", "10.0.0.9:6379"}) {
		t.Errorf("addresses = %v, want all three", got)
	}
}

func TestWhichVersionsTellOfDisks(t *testing.T) {
	for version, want := range map[string]bool{"7.0.15": false, "7.1.9": false, "7.2.0": true, "7.2.4": true, "7.10.0": true, "8.0.1": true, "10.1": true, "6.9.9": false, "": false} {
		if got := (facts{version: version}).syncs(); got != want {
			t.Errorf("version %q tells of disks: %v, want %v", version, got, want)
		}
	}
}
