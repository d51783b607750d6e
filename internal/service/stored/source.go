package stored

import (
	"encoding/json"
	"time"
)

// Source says where the items of a bulk action are read from. One member is set.
type Source struct {
	Segment  *SegmentSource  `json:"segment,omitempty"`
	Postgres *PostgresSource `json:"postgres,omitempty"`
	Object   *ObjectSource   `json:"object,omitempty"`
	Kafka    *KafkaSource    `json:"kafka,omitempty"`
	PageSize int             `json:"page_size,omitempty"`
	Timeout  Duration        `json:"timeout,omitempty"`
	Upload   string          `json:"upload,omitempty"`
	Added    []string        `json:"added,omitempty"` // uploads whose rows follow those of Upload
}

// Uploads returns the uploads that a source reads, in their order; none for another source, or nil.
func (s *Source) Uploads() []string {
	if s == nil || s.Upload == "" {
		return nil
	}
	return append([]string{s.Upload}, s.Added...)
}

// SegmentSource is a list behind a URL, page by page.
type SegmentSource struct {
	Connection  string          `json:"connection,omitempty"`
	URL         string          `json:"url"`
	Method      string          `json:"method,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`
	LimitParam  string          `json:"limit_param,omitempty"`
	CursorParam string          `json:"cursor_param,omitempty"`
}

// PostgresSource is a query.
type PostgresSource struct {
	Connection string `json:"connection"`
	Query      string `json:"query"`
	Key        string `json:"key"`
}

// ObjectSource is an object in S3 or a compatible store.
type ObjectSource struct {
	Connection string `json:"connection"`
	Bucket     string `json:"bucket"`
	Key        string `json:"key"`
	Format     string `json:"format,omitempty"`
}

// KafkaSource is a topic.
type KafkaSource struct {
	Connection string     `json:"connection"`
	Topic      string     `json:"topic"`
	Since      *time.Time `json:"since,omitempty"`
	IDFromKey  bool       `json:"id_from_key,omitempty"`
}
