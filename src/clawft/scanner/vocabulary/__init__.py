"""The words of the field: which paths and variables are secret, which hosts are foreign, which commands do what."""
