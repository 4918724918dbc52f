"""Scheduling: from a program to ordered, checked steps over memory."""
