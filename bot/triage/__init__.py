"""The durable story: a red job comes in, runs go out, a verdict is told. Each step one side effect."""
