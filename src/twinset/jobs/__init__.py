"""The jobs of the package: one file for each public function."""
