"""Pure values that every other room speaks: keys, resource types and changes. No I/O."""
