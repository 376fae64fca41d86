"""Tests of the scikit-learn front."""
