"""What people and programs ask OPA, in as few queries as that takes: names as they are typed, batches, what-if."""
