"""Recordings of real systemd, as data, and what reads and makes them."""
