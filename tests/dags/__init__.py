"""Tests with the Airflow environment."""
