"""The jobs a user can ask for: one file for each public function."""
