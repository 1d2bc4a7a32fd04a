"""Measurements that print and judge nothing."""
