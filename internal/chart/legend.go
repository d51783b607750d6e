package chart

// swatch is the width of the sample of a key.
const swatch = 16.0

// width returns the room of a key and of the gap after it.
func (k *Key) width() float64 { return swatch + 6 + body.width(k.Text) + 16 }

// draw draws a key whose words have their baseline at y.
func (k *Key) draw(p *pen, x, y float64) {
	if k.Area {
		p.rect(k.Colour, x, y-10, x+swatch, y)
	} else {
		p.path(lineClass(k.Dashed), k.Colour, "M"+place(x)+" "+place(y-4.5)+"h"+place(swatch))
	}
	p.text(x+swatch+6, y, start, body, Second, k.Text)
}

// keyLines breaks the legend of a panel into lines that fit into a room.
func keyLines(keys []Key, room float64) (lines [][]Key) {
	x := room
	for _, k := range keys {
		if w := k.width(); len(lines) == 0 || x+w-16 > room {
			lines, x = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], k)
		x += k.width()
	}
	return lines
}

// legend draws the legend of a panel whose first line has its baseline at y.
func (p *Panel) legend(to *pen, left, y, room float64) {
	for _, line := range keyLines(p.Legend, room) {
		x := left
		for i := range line {
			line[i].draw(to, x, y)
			x += line[i].width()
		}
		y += lineHeight
	}
}
