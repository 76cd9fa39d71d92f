"""What runs inside a Spark task: Arrow batches in, Arrow batches out. Nothing here knows Spark."""
