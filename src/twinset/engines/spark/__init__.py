"""The engine that runs on Apache Spark: data frames between the steps, kernels over Arrow batches within them."""
