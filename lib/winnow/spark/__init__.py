"""Winnow inside any Spark session: data frames in, data frames out."""

from winnow.spark.index import Index, build_index, load_index
from winnow.spark.matching import match
from winnow.spark.sql import register

__all__ = ["Index", "build_index", "load_index", "match", "register"]
