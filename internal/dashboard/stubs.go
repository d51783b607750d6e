package dashboard

func (d *Dashboard) simulatorPages() {}
