"""What is written down when something is refused to a plugin: a line of the audit log, and one of its own log that says
what would have to be granted."""

__all__ = ["MAX_REFUSALS", "describe_refusal", "kind_of_refusal"]

MAX_REFUSALS = 100  # that one process is written down with, of those that it tells itself


def kind_of_refusal(rule: str) -> str:
    """For the audit log."""
    return "program" if rule == "no-shell" else "url"


def describe_refusal(plugin_id: str, subject: str, rule: str) -> str:
    """For the plugin's log."""
    grant = f"weft plugins grant {plugin_id}"
    said = {
        "not-granted": f"{subject} is not granted ({grant})",
        "no-host": f"{subject}: no host is granted ({grant})",
        "no-shell": f"{subject}: starting programs is not granted ({grant} --shell)",
        "past-proxy": f"{subject}: it does not go through the proxy; take host.connect, or what follows HTTPS_PROXY",
        "url-private-address": f"{subject}: it is private, and tools.web.block_private_ips keeps it closed",
    }
    other = f"{subject}: {rule}" + (f" ({grant})" if "granted" in rule else "")
    return "refused: " + " ".join(said.get(rule, other).split())
