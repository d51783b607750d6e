package quota

import "time"

// peak is the most that started in any window.
func (w *world) peak() int64 {
	var most, sum int64
	first := 0
	for _, x := range w.log {
		sum += x.cost
		for w.log[first].at <= x.at-int64(w.limit.Window) {
			sum -= w.log[first].cost
			first++
		}
		most = max(most, sum)
	}
	return most
}

// use is the share of the limit that was used between two times.
func (w *world) use(from, to int64) float64 {
	var sum int64
	for _, x := range w.log {
		if x.at > from && x.at <= to {
			sum += x.cost
		}
	}
	return float64(sum) / (float64(w.limit.Units) * float64(to-from) / float64(w.limit.Window))
}

// back is how long after a time the trailing window was below a share of the
// limit for good: until it had reached that again after its lowest.
func (w *world) back(from, to int64, share float64) time.Duration {
	lowest, least := from, 2.0
	for t := from; t <= min(to, from+3*sec); t += 10 * ms {
		if u := w.use(t-sec, t); u < least {
			lowest, least = t, u
		}
	}
	for t := lowest; t <= to; t += 10 * ms {
		if w.use(t-sec, t) >= share {
			return time.Duration(t - from)
		}
	}
	return never
}

// jain is the evenness of what tenants got per weight.
func jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// perWeight is what tenants got since before, by weight.
func (w *world) perWeight(before []float64) (xs []float64) {
	for _, n := range w.nodes {
		for _, ln := range n.lanes {
			for _, t := range ln.tenants {
				xs = append(xs, (w.served[t.no]-before[t.no])/float64(t.weight))
			}
		}
	}
	return xs
}
