"""What runs beside a document: generic primitives, no knowledge of models, tools or limits. Stdlib in `runtime`."""
