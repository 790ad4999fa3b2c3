"""Settings: read once, frozen; sections are grouped by subject (`_SECTION_TYPES` in loader.py tells which file)."""

from clawft.config.keys import find_by_path, join_path, to_snake_case
from clawft.config.loader import Config, ConfigLayer, config_files, load_config, parse_config, read_configs
from clawft.config.secret import EnvValue, SecretRef
from clawft.config.skills import LoadSettings, SkillEntry, SkillsSettings

__all__ = [
    "Config",
    "ConfigLayer",
    "EnvValue",
    "LoadSettings",
    "SecretRef",
    "SkillEntry",
    "SkillsSettings",
    "config_files",
    "find_by_path",
    "join_path",
    "load_config",
    "parse_config",
    "read_configs",
    "to_snake_case",
]
