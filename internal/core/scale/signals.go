package scale

import "time"

// Signals describes one lane during one cycle.
type Signals struct {
	// Workers is the number that the lane was last given.
	Workers int
	// Loads is the work by resource. A resource that is left out is forgotten.
	Loads []Load
	// SlotWait is the 99th percentile of the time from eligible to dispatched, without waits
	// for a limit.
	SlotWait time.Duration
	// Busy is the share of Workers that ran a task, from 0 to 1.
	Busy float64
	// CPU and Memory are the used shares of the fullest node, from 0 to 1.
	CPU, Memory float64
	// Strained reports that flow control found load to be the cause: the rate is held down, a
	// breaker has opened or the allowed concurrency shrinks.
	Strained bool
	// Bound is this lane's share of the tasks that its resource may have in flight; more
	// workers could never be used. 0 means no limit.
	Bound int
	// Floor is the usual need of this hour; see [History.Floor]. 0 means unknown.
	Floor int
}

// Load is the work for one resource during one cycle, counted in tasks.
type Load struct {
	// Resource names it within the lane.
	Resource string
	// Arrivals is the number of tasks per second that became ready.
	Arrivals float64
	// Backlog is the number of tasks that are ready and not running.
	Backlog int
	// Usable is the number of tasks per second that the resource would take: the largest of
	// quota held, quota announced and the rate of flow control. 0 means no limit.
	Usable float64
	// Closed reports that nothing may run at present, whatever Usable is.
	Closed bool
	// Service is the mean run time of the tasks that ended in this cycle.
	Service time.Duration
	// Samples is the number of tasks that ended, Failed how many of them failed in a way that
	// blames the resource (timeout, refusal, server error) and not the item.
	Samples, Failed int
}

// backlog returns the number of waiting tasks of all resources.
func (s Signals) backlog() int {
	n := 0
	for _, l := range s.Loads {
		n += l.Backlog
	}
	return n
}

// samples returns the number of tasks that ended, and of those that failed.
func (s Signals) samples() (ended, failed int) {
	for _, l := range s.Loads {
		ended, failed = ended+l.Samples, failed+l.Failed
	}
	return ended, failed
}

// depth returns the number of waiting tasks per worker.
func (s Signals) depth() float64 { return float64(s.backlog()) / float64(max(s.Workers, 1)) }

// service returns the mean run time of this cycle's tasks in seconds, 0 if none ended.
func (s Signals) service() float64 {
	sum, n := 0.0, 0
	for _, l := range s.Loads {
		sum, n = sum+l.Service.Seconds()*float64(l.Samples), n+l.Samples
	}
	return sum / float64(max(n, 1))
}
