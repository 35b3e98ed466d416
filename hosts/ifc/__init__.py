"""The IFC host: one file, a supervisor that talks to the network, a worker that holds the model and forks."""
