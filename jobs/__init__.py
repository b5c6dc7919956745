"""Programs that a rank can run by name. Each has `run(context, reporter) -> bool`."""
