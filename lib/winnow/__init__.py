"""Winnow: which of these XPath profiles does each of these XML documents satisfy?"""

__version__ = "0.1.0"
