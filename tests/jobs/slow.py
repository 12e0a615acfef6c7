"""Tests of jobs that take many Spark jobs each run in the nightly setting."""

import os

import pytest

NIGHTLY = bool(os.environ.get("WINNOW_NIGHTLY"))
nightly = pytest.mark.skipif(not NIGHTLY, reason="many Spark jobs: in the nightly setting")
