"""The engines of the BoXFilter paper: whole patterns as bounded sequences in envelope trees."""
