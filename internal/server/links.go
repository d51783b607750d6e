package server

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/report"
)

// at returns the path at which clients find a path of ours.
func (s *Server) at(path string) string { return s.opts.Prefix + path }

// WithLinks returns a bulk action with the URLs of its parts.
func (s *Server) WithLinks(b api.BulkAction) api.BulkAction {
	self := s.at(bulkPath + "/" + b.ID)
	b.Links = api.Links{
		Self: self, Items: self + "/items", Progress: self + "/progress", Events: self + "/events",
		Report: self + "/report", ErrorGroups: self + "/error-groups",
	}
	return b
}

// linkAll adds the URLs to a list of bulk actions.
func (s *Server) linkAll(list []api.BulkAction) []api.BulkAction {
	for i := range list {
		list[i] = s.WithLinks(list[i])
	}
	return list
}

// answerBulk is an answer with a bulk action in it.
func (s *Server) answerBulk(b api.BulkAction, err error) (*body[api.BulkAction], error) {
	return answer(s.WithLinks(b), err)
}

// filesOf returns the URLs of the rows of a bulk action.
func (s *Server) filesOf(id string, badRows, repeated bool) api.Files {
	to := func(state report.State) string {
		return s.at(bulkPath+"/"+id) + "/results?state=" + string(state) + "&format=csv"
	}
	out := api.Files{Done: to(report.StateDone), Failed: to(report.StateFailed), Cancelled: to(report.StateCancelled)}
	if badRows {
		out.BadRows = s.at(bulkPath+"/"+id) + "/bad-rows"
	}
	if repeated {
		out.Duplicates = s.at(bulkPath+"/"+id) + "/duplicates"
	}
	return out
}
