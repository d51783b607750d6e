package callback

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Lists of notices, by the beginning of their names.
const (
	pendingList  = "p/" // delivery.round
	bulkList     = "b/" // bulk action/time/delivery
	endpointList = "e/" // endpoint/time/delivery
)

// noEndpoint stands for the endpoint of URLs that come with events.
const noEndpoint = "-"

func pendingName(d Delivery) string { return fmt.Sprintf("%s%s.%d", pendingList, d.ID, d.Round) }

// listNames are the names by which a delivery is listed.
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

// newestFirst writes a time so that later ones come first in the order of names.
func newestFirst(t time.Time) string { return fmt.Sprintf("%016x", math.MaxInt64-t.UnixNano()) }

// listedID is the delivery that a name of a list stands for.
func listedID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
