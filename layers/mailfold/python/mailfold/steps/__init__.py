"""The steps: one public function each, told by a thin handler what to work with."""
