"""Results that are kept: keys, entries, and the places where entries lie."""
