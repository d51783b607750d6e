package dashboard

func (d *Dashboard) resourcePages()  {}
func (d *Dashboard) lanePages()      {}
func (d *Dashboard) simulatorPages() {}
