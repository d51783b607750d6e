package api

import "time"

// Column holds one value per step of a time series; nil where the value is unknown, which is not 0.
type Column []*float64

// Sum adds up the known values.
func (c Column) Sum() (sum float64) {
	for _, v := range c {
		if v != nil {
			sum += *v
		}
	}
	return sum
}

// Timeline holds the steps of a time series.
type Timeline struct {
	Start  time.Time `json:"start,omitzero" doc:"When the first step begins; missing if there are no points"`
	Step   Duration  `json:"step" doc:"Length of a step" example:"10s"`
	End    time.Time `json:"end,omitzero" doc:"When the last step ends, or until when it has been measured"`
	Points int       `json:"points" doc:"Number of values in every column"`
}

// At returns when step i begins.
func (t *Timeline) At(i int) time.Time { return t.Start.Add(time.Duration(i) * time.Duration(t.Step)) }

// PerSecond converts a column of counts to counts per second. The last step may be shorter than the
// others.
func (t *Timeline) PerSecond(c Column) Column {
	out := make(Column, len(c))
	for i, v := range c {
		if v == nil {
			continue
		}
		length := time.Duration(t.Step)
		if left := t.End.Sub(t.At(i)); left > 0 && left < length {
			length = max(left, time.Second)
		}
		rate := *v / length.Seconds()
		out[i] = &rate
	}
	return out
}

// Series holds what all nodes did over time, on all resources or on one. Counts are of each step;
// other values are the mean of a step.
type Series struct {
	Timeline
	Resource        string `json:"resource,omitempty" doc:"Missing: all resources together"`
	Done            Column `json:"done" nullable:"false" doc:"Items done in the step: at the resource, or, of all together, done with their last step"`
	Failed          Column `json:"failed" nullable:"false" doc:"Items that failed"`
	Cancelled       Column `json:"cancelled" nullable:"false" doc:"Items that were cancelled or left out"`
	Retries         Column `json:"retries" nullable:"false" doc:"Attempts of items that ended in a retry"`
	Refused         Column `json:"refused" nullable:"false" doc:"Items refused by a busy downstream, or by one that does not know the call"`
	Calls           Column `json:"calls" nullable:"false" doc:"Calls that ended"`
	AllowedRate     Column `json:"allowed_rate" nullable:"false" doc:"Limit in force, in items per second; null: no limit, or unknown"`
	InFlight        Column `json:"in_flight" nullable:"false" doc:"Calls in flight"`
	AllowedInFlight Column `json:"allowed_in_flight" nullable:"false" doc:"How many calls may be in flight at once: of a resource its limit, of all together the slots of the nodes; null: no limit, or unknown"`
	Workers         Column `json:"workers" nullable:"false" doc:"Workers of the lanes"`
	NeededWorkers   Column `json:"needed_workers" nullable:"false" doc:"Workers that the load would keep busy"`
	Ready           Column `json:"ready" nullable:"false" doc:"Items ready to run"`
	OldestReady     Column `json:"oldest_ready_seconds" nullable:"false" doc:"For how long the tenant that was served longest ago has waited: the largest value of the step"`
}

// BulkSeries holds how a bulk action went over time. The sums of its counts are those of the bulk
// action.
type BulkSeries struct {
	Timeline
	Done        Column `json:"done" nullable:"false" doc:"Items done in the step"`
	Failed      Column `json:"failed" nullable:"false" doc:"Items that failed"`
	Cancelled   Column `json:"cancelled" nullable:"false" doc:"Items that were cancelled or left out"`
	Retries     Column `json:"retries" nullable:"false" doc:"Attempts of items that ended in a retry"`
	Refused     Column `json:"refused" nullable:"false" doc:"Items refused by a busy downstream, or by one that does not know the call"`
	Calls       Column `json:"calls" nullable:"false" doc:"Calls that ended"`
	AllowedRate Column `json:"allowed_rate" nullable:"false" doc:"Lowest rate limit of its steps, in items per second: its own or of their resources; null: no limit, or unknown"`
	InFlight    Column `json:"in_flight" nullable:"false" doc:"Items in flight"`
}

// leastCalls is how many calls a mean duration needs.
const leastCalls = 10

// CallTime returns how long calls took on average: calls in flight, divided by calls that ended per second. It is not known
// of a few calls only.
func (s *Series) CallTime() (took time.Duration, known bool) {
	var flight, calls float64
	for i, c := range s.Calls {
		if c != nil && i < len(s.InFlight) && s.InFlight[i] != nil {
			calls, flight = calls+*c, flight+*s.InFlight[i]*time.Duration(s.Step).Seconds()
		}
	}
	if calls < leastCalls || flight <= 0 {
		return 0, false
	}
	return time.Duration(flight / calls * float64(time.Second)), true
}
