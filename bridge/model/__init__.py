"""Pure values that all other packages use: keys, resource types and changes. No I/O."""
