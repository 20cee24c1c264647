"""Holdfast: a job queue and scheduler. One file to start, one URL to grow, no job lost."""

__version__ = "0.1.0"
