package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/core/near"
)

// parseLane reads the name of a lane.
func parseLane(text string) (id weir.LaneID, err error) {
	if id.UnmarshalText([]byte(text)) != nil {
		return id, command.BadUsage("write partition and resource, as in p03/send-message", "%q is not a lane", text)
	}
	return id, nil
}

// wantKnown refuses a lane that cannot be: its resource is known nowhere, or its
// partition does not exist. A lane that was only idle recently is accepted.
func (d *desk) wantKnown(ctx context.Context, id weir.LaneID) error {
	known, err := d.known(ctx)
	if err != nil || slices.Contains(known, id) {
		return err
	}
	if slices.Contains(resources(known), id.Resource) {
		n, err := d.engine.Partitions(ctx)
		if err != nil || id.Partition < n {
			return err
		}
		return command.BadUsage(fmt.Sprintf("the last one is p%02d", n-1), "lane %v does not exist: %s has %d partitions", id, d.place, n)
	}
	return command.BadUsage(listed(known, "lanes", d.env.Program+" lanes"+d.flags), "lane %v not found in %s", id, d.place)
}

// wantResource refuses a resource that no lane is of.
func (d *desk) wantResource(ctx context.Context, name string) error {
	all, err := d.engine.Resources(ctx)
	if err != nil || slices.Contains(all, name) {
		return err
	}
	fix := listed(all, "resources", d.env.Program+" lanes"+d.flags)
	if meant := near.Word(name, all); meant != "" {
		fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
	}
	return command.BadUsage(fix, "resource %q not found in %s", name, d.place)
}

// resources lists the resources of lanes.
func resources(lanes []weir.LaneID) (all []string) {
	for _, id := range lanes {
		all = append(all, id.Resource)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listed names what there is, the first ones of many.
func listed[T any](known []T, what, command string) string {
	const most = 12
	if len(known) == 0 {
		return "nothing has run there yet, so no " + what + " are known"
	}
	var names []string
	for _, k := range known[:min(most, len(known))] {
		names = append(names, fmt.Sprint(k))
	}
	text := "known " + what + ": " + strings.Join(names, ", ")
	if more := len(known) - most; more > 0 {
		text += fmt.Sprintf(" and %d more; %s lists them", more, command)
	}
	return text
}
