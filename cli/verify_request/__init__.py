"""verify-request: say offline why a captured request is, or is not, verified."""
