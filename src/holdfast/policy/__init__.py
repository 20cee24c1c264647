"""The decisions: pure functions. The clock and the random source arrive as arguments."""
