"""The code that runs in a plugin's process, inside the sandbox: it loads the plugin and talks to the host.

It imports little, since every start of a plugin waits for it.
"""
