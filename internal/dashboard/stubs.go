package dashboard

func (d *Dashboard) newPages()      {}
func (d *Dashboard) itemPages()     {}
func (d *Dashboard) failedPages()   {}
func (d *Dashboard) schedulePages() {}
func (d *Dashboard) settingsPages() {}
