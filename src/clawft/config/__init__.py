"""Settings: read once, frozen; sections are grouped by subject (`_SECTION_TYPES` in loader.py tells which file)."""

from clawft.config.keys import find_by_path, join_path, to_snake_case
from clawft.config.loader import CONFIG_NAMES, Config, ConfigLayer, config_files, load_config, parse_config, read_config
from clawft.config.secret import EnvValue, SecretRef
from clawft.config.skills import LoadSettings, SecuritySettings, SkillEntry, SkillsSettings

__all__ = [
    "CONFIG_NAMES",
    "Config",
    "ConfigLayer",
    "EnvValue",
    "LoadSettings",
    "SecretRef",
    "SecuritySettings",
    "SkillEntry",
    "SkillsSettings",
    "config_files",
    "find_by_path",
    "join_path",
    "load_config",
    "parse_config",
    "read_config",
    "to_snake_case",
]
