"""Entry point for setuptools; everything it needs to know is in setup.cfg."""

from setuptools import setup

setup()
