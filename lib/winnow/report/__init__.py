"""The run report: one self-contained HTML page that tells what happened."""
