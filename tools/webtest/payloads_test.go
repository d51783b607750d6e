package webtest

import "strings"

// payload is a text that tries to be more than a text. Where it runs, it sets __hit.
type payload struct {
	text string
	json string // as it is sent to the API, if that is not simply the text
}

// payloads are texts that have broken pages of other programs.
var payloads = []payload{
	{text: `<script>__hit=1</script>`},
	{text: `"><script>__hit=2</script>`},
	{text: `'><img src=x onerror=__hit=3>`},
	{text: `<img src=https://evil.example/4 onerror="__hit=4">`},
	{text: `" onmouseover="__hit=5" autofocus onfocus="__hit=5" x="`},
	{text: `' onfocus='__hit=6' autofocus='`},
	{text: ` autofocus onfocus=__hit=7 tabindex=1 `},
	{text: `javascript:__hit=8//`},
	{text: "java\tscript:__hit=9"},
	{text: `data:text/html,<script>parent.__hit=10</script>`},
	{text: `//evil.example/11`},
	{text: `{{.Page}}{{template "main"}}${__hit=12}#{__hit=12}`},
	{text: `<svg onload=__hit=13><animate onbegin=__hit=13 attributeName=x dur=1s>`},
	{text: `<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror=__hit=14>">`},
	{text: `<!-- `},
	{text: `--><script>__hit=16</script><!--`},
	{text: `<![CDATA[<script>__hit=17</script>]]>`},
	{text: `</title><script>__hit=18</script>`},
	{text: `</textarea><script>__hit=19</script>`},
	{text: `</style><script>__hit=20</script><style>`},
	{text: `</script><script>__hit=21</script>`},
	{text: `</main></body></html><iframe src=javascript:parent.__hit=22>`},
	{text: `<base href=https://evil.example/><form action=https://evil.example/23><button>`},
	{text: `<meta http-equiv=refresh content="0;url=https://evil.example/24">`},
	{text: `<link rel=stylesheet href=https://evil.example/25.css>`},
	{text: `x:expression(__hit=26);background:url(https://evil.example/26)`},
	{text: "`${__hit=27}` \\u003cscript\\u003e__hit=27\\u003c/script\\u003e"},
	{text: `&lt;script&gt;__hit=28&lt;/script&gt;&#x3c;script&#x3e;&amp;&quot;&#0;&#xd800;`},
	{text: `+ADw-script+AD4-__hit=29+ADw-/script+AD4-`},
	{text: "\u202egnp.exe\u2066\u2067 isolated \u202d"},
	{text: "zero\u200bwidth\u200d\ufeffjoiner\u00ad\u2060"},
	{text: "nul\x00 bell\x07 escape\x1b[31m del\x7f c1\u0085\u009b"},
	{text: "two\r\nlines\r\nSet-Cookie: hit=33\r\n\r\n<script>__hit=33</script>"},
	{text: `=cmd|'/C calc'!A0`},
	{text: "@SUM(1+1)*cmd|' /C calc'!A0\t,\"two\"\"quotes\";'one'"},
	{text: `half`, json: `"\ud800 half \udfff<script>__hit=36</script>"`},
	{text: "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿" + strings.Repeat("\u0301\u0488", 40) + "é"},
	{text: "‚‘’“”„«»‹›′″`´" + `"'\`},
	{text: strings.Repeat("W", 120)},
	{text: strings.Repeat("<b title='long'>", 8000)},
}

// wire returns the text as a value of JSON.
func (p payload) wire() string {
	if p.json != "" {
		return p.json
	}
	return quote(p.text)
}

// short returns as much of the text as an address can hold.
func (p payload) short() string { return p.text[:min(len(p.text), 1000)] }
