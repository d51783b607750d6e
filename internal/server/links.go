package server

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/report"
)

// WithLinks returns a bulk action with the URLs of its parts.
func WithLinks(b api.BulkAction) api.BulkAction {
	self := bulkPath + "/" + b.ID
	b.Links = api.Links{
		Self: self, Items: self + "/items", Progress: self + "/progress", Events: self + "/events",
		Report: self + "/report", ErrorGroups: self + "/error-groups",
	}
	return b
}

// linkAll adds the URLs to a list of bulk actions.
func linkAll(list []api.BulkAction) []api.BulkAction {
	for i := range list {
		list[i] = WithLinks(list[i])
	}
	return list
}

// answerBulk is an answer with a bulk action in it.
func answerBulk(b api.BulkAction, err error) (*body[api.BulkAction], error) {
	return answer(WithLinks(b), err)
}

// filesOf returns the URLs of the rows of a bulk action.
func filesOf(id string) api.Files {
	to := func(s report.State) string {
		return bulkPath + "/" + id + "/results?state=" + string(s) + "&format=csv"
	}
	return api.Files{Done: to(report.StateDone), Failed: to(report.StateFailed), Cancelled: to(report.StateCancelled)}
}
