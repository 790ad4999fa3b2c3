"""Plugins that are WebAssembly components: the world they live in, and what the host does for them."""
