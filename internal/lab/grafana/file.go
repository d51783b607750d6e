package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Grafana's grid has 24 columns.
const (
	panelWidth, panelHeight = 8, 8
	textHeight              = 3
	schema                  = 39
)

// object is an object of a file. Its keys are written in order.
type object map[string]any

// JSON returns the dashboard as the file that Grafana imports and provisions.
func (d *Dashboard) JSON() ([]byte, error) {
	panels := []object{{
		"id": 1, "type": "text", "title": "", "transparent": true, "gridPos": grid(0, 0, 24, textHeight),
		"options": object{"mode": "markdown", "content": d.About},
	}}
	for i := range d.Panels {
		at := grid(i%3*panelWidth, textHeight+i/3*panelHeight, panelWidth, panelHeight)
		panels = append(panels, d.Panels[i].object(i+2, at))
	}
	variables := []object{{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}
	for i := range d.Variables {
		variables = append(variables, d.Variables[i].object())
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	err := to.Encode(object{
		"uid": d.Name, "title": d.Title, "tags": []string{"weir"}, "schemaVersion": schema, "editable": true,
		"graphTooltip": 1, "refresh": "30s", "time": object{"from": "now-3h", "to": "now"}, "timezone": "browser",
		"templating": object{"list": variables}, "annotations": object{"list": []object{}}, "links": []object{{
			"type": "dashboards", "tags": []string{"weir"}, "title": "weir", "asDropdown": true, "includeVars": true, "keepTime": true,
		}}, "panels": panels,
	})
	return out.Bytes(), err
}

func grid(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

// source is the Prometheus that the reader chooses.
var source = object{"type": "prometheus", "uid": "${datasource}"}

func (p *Panel) object(id int, at object) object {
	targets := make([]object, 0, len(p.Queries))
	for i, x := range p.Queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": source, "expr": x.Expr, "legendFormat": x.Legend, "editorMode": "code", "range": true,
		})
	}
	return object{
		"id": id, "type": "timeseries", "title": p.Title, "description": p.About, "datasource": source, "gridPos": at, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.Unit.Grafana, "min": 0, "custom": object{
			"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false,
		}}, "overrides": []object{}},
		"options": object{
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		},
	}
}

func (v *Variable) object() object {
	if v.Metric == "" {
		return object{"name": v.Name, "label": v.Label, "type": "textbox", "query": v.Default,
			"current": object{"text": v.Default, "value": v.Default}}
	}
	selector := v.Metric
	if v.Name != job.Name {
		selector += `{job="$job"}`
	}
	query := fmt.Sprintf("label_values(%s, %s)", selector, v.Of)
	return object{
		"name": v.Name, "label": v.Label, "type": "query", "datasource": source, "definition": query,
		"query": object{"query": query, "refId": v.Name}, "refresh": 2, "sort": 1, "includeAll": false, "multi": false,
	}
}
