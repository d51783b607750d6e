package dashboard

func (d *Dashboard) newPages()       {}
func (d *Dashboard) resourcePages()  {}
func (d *Dashboard) lanePages()      {}
func (d *Dashboard) simulatorPages() {}
