"""Seeded histories of whole runs on a bad day, and what must hold after each: `make chaos`."""
