"""The only way out of the sandbox: a proxy on its loopback that lets a program reach the hosts it was granted."""

from clawft.sandbox.proxy.host_access import AskHost, HostAccess, Record
from clawft.sandbox.proxy.server import proxy_env, serve_proxy

__all__ = ["AskHost", "HostAccess", "Record", "proxy_env", "serve_proxy"]
