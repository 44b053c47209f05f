"""What a run would take, what it lacks, and where its results come from."""
