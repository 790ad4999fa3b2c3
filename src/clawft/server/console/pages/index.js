// Every page of the console, in the order of the navigation.

import * as approvals from "./approvals.js";
import * as audit from "./audit.js";
import * as registry from "./registry.js";
import * as run from "./run.js";
import * as runs from "./runs.js";
import * as sessions from "./sessions.js";
import * as skill from "./skill.js";
import * as skills from "./skills.js";
import * as status from "./status.js";
import * as usage from "./usage.js";

// `icon` puts it into the navigation, `key` is its letter after "g", `scope` what the token needs, `under` the path
// of the page it belongs to.
export const PAGES = [
  { ...skills, icon: "skills", key: "s" },
  { ...skill, under: skills.path },
  { ...run, icon: "run", key: "r", scope: "run" },
  { ...approvals, icon: "approvals", key: "a", scope: "approve" },
  { ...sessions, icon: "sessions", key: "e", scope: "admin" },
  { ...runs, icon: "runs", key: "b", scope: "admin" },
  { ...usage, icon: "usage", key: "u", scope: "admin" },
  { ...audit, icon: "audit", key: "l", scope: "admin" },
  { ...registry, icon: "registry", key: "y", scope: "admin" },
  { ...status, icon: "status", key: "t" },
];
