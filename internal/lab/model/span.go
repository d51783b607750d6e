package model

import "time"

const second = int64(time.Second)

func spanText(s Span) string { return time.Duration(s).String() }

func seconds(s Span) float64 { return time.Duration(s).Seconds() }
