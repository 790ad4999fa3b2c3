"""What runs in the process of a plugin, inside the sandbox: it loads the plugin and speaks with the host.

It imports little, since every start of a plugin waits for it.
"""
