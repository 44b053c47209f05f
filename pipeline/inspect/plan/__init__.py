"""The scale sheet: what a configuration asks for before anything runs, in jobs, computation, GPU-hours and disk."""
