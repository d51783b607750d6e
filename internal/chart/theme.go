package chart

import "strings"

// Colour is a role of a line, an area or a text. The pages have the same roles with the same colours.
type Colour string

// The colours. They differ by lightness as well, for readers who do not see the hue.
const (
	Ink     Colour = "ink"
	Second  Colour = "ink-2" // explanations
	Faint   Colour = "ink-3" // axes
	Running Colour = "running"
	Waiting Colour = "waiting"
	Paused  Colour = "paused"
	Done    Colour = "done"
	Failed  Colour = "failed"
	Behind  Colour = "line-2"      // areas behind lines
	Ground  Colour = "bg"          // words on an area
	Trouble Colour = "failed-soft" // times of trouble
)

// shade is a colour on light and on dark pages.
type shade struct {
	name        Colour
	light, dark string
}

// theme lists the colours, and that of the grid.
var theme = []shade{
	{Ground, "#ffffff", "#0f1114"},
	{"line", "#e3e6e9", "#262a30"},
	{Behind, "#c8cdd4", "#3b414a"},
	{Ink, "#14171b", "#e8eaed"},
	{Second, "#4a515b", "#aeb5bf"},
	{Faint, "#636a74", "#929aa5"},
	{Running, "#0b57d0", "#82b1ff"},
	{Waiting, "#946000", "#e0ab21"},
	{Paused, "#7d3c8c", "#e3b5f5"},
	{Done, "#087b5c", "#6fe0bb"},
	{Failed, "#98140c", "#fa7768"},
	{Trouble, "#fdeeec", "#34181a"},
}

// style returns the style sheet of a figure. It gives colours by class and not by variables, which few programs besides
// browsers know.
func style() string {
	var light, dark strings.Builder
	for _, s := range theme {
		light.WriteString("." + string(s.name) + "{color:" + s.light + "}\n")
		dark.WriteString("." + string(s.name) + "{color:" + s.dark + "}\n")
	}
	return `text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;fill:currentColor}
.h1{font-size:16px;font-weight:600}
.h2{font-size:13px;font-weight:600}
.on{font-weight:600}
.l{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round}
.thin{fill:none;stroke:currentColor}
.dashed{stroke-dasharray:5 4}
.f{fill:currentColor}
` + light.String() + "@media(prefers-color-scheme:dark){\n" + dark.String() + "}\n"
}
