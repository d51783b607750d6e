package api

import "strings"

// Problem is an error response as defined by RFC 9457 (application/problem+json).
type Problem struct {
	Type      string  `json:"type" example:"/problems/unknown_action" doc:"URL of a page that explains the code"`
	Title     string  `json:"title" example:"Invalid value"`
	Status    int     `json:"status" example:"422"`
	Code      string  `json:"code" example:"unknown_action" doc:"Stable code for programs. Newer servers may have more"`
	Detail    string  `json:"detail,omitempty" doc:"What is wrong with this request"`
	Fix       string  `json:"fix,omitempty" doc:"What to do about it"`
	Errors    []Fault `json:"errors,omitempty" nullable:"false" doc:"Every fault of the request, up to 20"`
	RequestID string  `json:"request_id,omitempty" doc:"Id of the request, as in the log of the server"`
}

// Fault is one error in a request.
type Fault struct {
	Code    string `json:"code,omitempty"`
	Field   string `json:"field,omitempty" example:"steps[0].action"`
	Line    int64  `json:"line,omitempty" doc:"Line of the body, from 1"`
	File    int64  `json:"file,omitempty" doc:"Which upload of the source the line is in, from 2; not set: the first"`
	Column  int64  `json:"column,omitempty"`
	Value   string `json:"value,omitempty" doc:"The value found, cut to 64 characters"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Error returns the problem as text.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	if p.Detail != "" {
		b.Reset()
		b.WriteString(p.Detail)
	}
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}
