package chart

import "time"

// timeSteps are the distances between times of an axis that people read at a glance.
var timeSteps = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// mostTimes bounds how many times an axis has, so that they have room on a phone.
const mostTimes = 5

// roundTimes returns the round times from one time to another, in a time zone: full minutes, quarters of an hour, hours.
func roundTimes(from, to time.Time, zone *time.Location) (list []time.Time) {
	span := to.Sub(from)
	step := 24 * time.Hour
	for _, s := range timeSteps {
		if span < mostTimes*s {
			step = s
			break
		}
	}
	for span >= mostTimes*step { // of many days
		step *= 2
	}
	_, offset := from.In(zone).Zone()
	shift := time.Duration(offset) * time.Second
	for at := from.UTC().Add(shift).Truncate(step).Add(-shift); !at.After(to); at = at.Add(step) {
		if !at.Before(from) {
			list = append(list, at)
		}
	}
	return list
}
