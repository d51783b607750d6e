package callback

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Lists of notices, by name prefix.
const (
	pendingList  = "p/" // delivery.round
	bulkList     = "b/" // bulk action/time/delivery
	endpointList = "e/" // endpoint/time/delivery
)

// noEndpoint stands for the endpoint of URLs that come with events.
const noEndpoint = "-"

func pendingName(d Delivery) string { return fmt.Sprintf("%s%s.%d", pendingList, d.ID, d.Round) }

// listNames returns the names under which a delivery is listed.
func listNames(d Delivery) []string {
	names := []string{ofEndpoint(d.Endpoint) + newestFirst(d.At) + "/" + d.ID}
	if d.BulkAction != "" {
		names = append(names, ofBulk(d.BulkAction)+newestFirst(d.At)+"/"+d.ID)
	}
	return names
}

func ofBulk(id string) string { return bulkList + id + "/" }

func ofEndpoint(id string) string {
	if id == "" {
		id = noEndpoint
	}
	return endpointList + id + "/"
}

// newestFirst formats a time so that later ones come first in the order of names.
func newestFirst(t time.Time) string { return fmt.Sprintf("%016x", math.MaxInt64-t.UnixNano()) }

// listedID returns the delivery of a name in a list.
func listedID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
