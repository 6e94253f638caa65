"""What tests and benchmarks share: the real handlers, the events that AWS hands to them, and stand-ins for AWS."""
