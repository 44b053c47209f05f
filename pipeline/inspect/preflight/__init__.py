"""What a run needs and does not have, found out before the first job: files, space, rights, GPUs, versions."""
