"""Parts that any model may use. Shapes: B batch, T reply, S source, D width, N sources, H heads."""
