# What stepgp uses of scikit-learn, which ships no types.
