"""The nouns: frozen data that every layer shares. No I/O, no clock, no decisions."""
