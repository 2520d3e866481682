"""healthd: watches a Linux host, heals what it may, tells the owner once, and remembers."""

__version__ = "0.1.0"
