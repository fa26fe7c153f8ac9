"""Words to numbers and back. Shapes: B batch, T reply, S source."""
