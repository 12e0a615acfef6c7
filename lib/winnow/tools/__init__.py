"""Tools around the product: what people run on their own, beside the jobs."""
