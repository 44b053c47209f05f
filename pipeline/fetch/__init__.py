"""Files from elsewhere: the catalogue, where each file can be found, and its checksum."""
