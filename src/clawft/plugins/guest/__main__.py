"""The start of a plugin's process: `python -I -B` runs this very file, which finds the rest of the package itself."""

import importlib.util
import os
import sys


def _find_package() -> None:
    """Load `clawft` from where this file is. Its parent folder cannot be listed in the sandbox, so that no import would
    find it there; and nothing else of that name may take its place."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = importlib.util.spec_from_file_location(
        "clawft", f"{package}/__init__.py", submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clawft"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    sys.path += [path for path in sys.argv[1:] if path not in sys.path]
    _find_package()
    from clawft.plugins.guest.server import serve

    serve()
