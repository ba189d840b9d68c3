"""The gateway: HTTP in, jobs out; audio back, encoded and delivered. Loads no model."""
