"""The command line: one module per subcommand, each with `add_arguments` and `run`; heavy imports wait until needed."""
