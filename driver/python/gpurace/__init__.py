"""gpurace for Python: the plugin of pytest."""
