"""What several suites share: fakes, builders, and the way to load a real handler."""
