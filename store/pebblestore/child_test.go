package pebblestore

const childVar = "WEIR_PEBBLESTORE_CHILD"

func child(role string) bool { return false }
