// One skill: what it is and how it stands, what it could do, what the model sees of it, and decisions about it.

import { request } from "../connection.js";
import { decisionButtons } from "../decisions.js";
import { h, outside } from "../dom.js";
import { count, plural } from "../format.js";
import { icon } from "../icons.js";
import { may } from "../me.js";
import { code, facts, head, section } from "../parts.js";
import { reviewSection } from "../review.js";
import { href } from "../router.js";
import { findingsSection, powerSection } from "../scanned.js";
import { emojiOf, isUsable, problemNode, STATES, stateChip, verdictChip } from "../skillwords.js";
import { fileList } from "../sources.js";
import { empty } from "../states.js";

export const title = "Skill";
export const path = "/skills/:name";

const KINDS = { "skill.md": "a folder with a SKILL.md", legacy: "a folder in an older format", command: "a command, one file" };
const UNSAID = "0.1.0"; // the version of those that say none

export async function render(view, params) {
  const changed = h("div", { class: "notice", role: "status", hidden: true });
  const read = async () => {
    const skill = await find(params.name);
    if (!skill) return {};
    const review = needsReview(skill) ? await request("review_skill", { name: params.name }).then((one) => one.review, (error) => error) : null;
    const isOther = review?.digest && review.digest !== skill.summary.digest; // it changed between the two
    return { skill, review: isOther ? new Error("It changed while it was read: look at it again.") : review };
  };
  const again = () => view.load(read, show); // the person asked for it as it is now
  const refresh = () => view.load(read, (answer) => (isOther(answer.skill) ? tellChanged() : show(answer)));
  let digest = null;
  let isShown = false;
  let isBroken = false;
  const begun = again();
  view.subscribe("skills", async (message) => {
    if (message.type !== "reconnected" && !concerns(message, params.name)) return;
    const now = await request("get_skill", { name: params.name }).catch(() => null);
    if (isOther(now?.skill)) tellChanged();
    else if (now) refresh(); // its text is what was shown; how it stands may be new
  });
  await begun;

  // Before anything is shown, and of a broken skill, which nobody approves, everything may be shown at once.
  function isOther(skill) {
    return isShown && !isBroken && skill?.summary.digest !== digest;
  }

  // Not shown anew by itself: nobody is to approve what came under their hands a moment ago.
  function tellChanged() {
    for (const one of view.element.querySelectorAll("[data-decision]")) one.disabled = true;
    changed.replaceChildren("This skill is not what is shown here any more. ", h("button", { type: "button", onclick: again }, "Show it as it is now"));
    changed.hidden = false;
  }

  function show({ skill, review }) {
    if (!skill) return missing(params.name);
    const one = skill.summary;
    digest = one.digest;
    isShown = true;
    isBroken = one.state === "broken";
    changed.hidden = true;
    view.setTitle(one.name);
    const powers = powerSection(skill.scan.power, skill.scan.undeclared);
    const name = [emojiOf(one), one.name];
    const files = filesOf(skill, review, params.name);
    const wrong = isBroken && one.reasons.find((reason) => reason.line);
    if (wrong) files.open(wrong.path.replace(folderOf(one), ""), wrong.line, { quietly: true });
    const about = one.display_name === one.name ? one.description : `${one.display_name}: ${one.description}`;
    return [
      head(name, { back: { href: href("/skills"), text: "Skills" }, sub: about, actions: buttons(skill, review, refresh) }),
      changed,
      stateCard(skill, review, files),
      h(
        "div",
        { class: "columns" },
        h("div", {},
          review && [reviewSection(review), powers, filesSection(skill, files)],
          one.state !== "broken" && modelSection(skill),
          findingsSection(skill.scan, files),
          bodySection(skill),
          !review && filesSection(skill, files),
          diagnosticsSection(skill.diagnostics.filter((said) => !one.reasons.some((reason) => reason.code === said.code && reason.line === said.line)), { files, folder: folderOf(one) })),
        h("div", { class: "column-side" }, factsSection(skill), !review && powers),
      ),
    ];
  }
}

// Nothing where no skill has this name.
async function find(name) {
  try {
    return (await request("get_skill", { name })).skill;
  } catch (error) {
    if (error.problem?.code !== "skill-not-found") throw error;
    return null;
  }
}

function missing(name) {
  const back = { href: href("/skills"), text: "Skills" };
  return [head(name, { back }), empty("No skill has this name", "It may have been renamed or removed.", h("a", { class: "button", href: href("/skills", { q: name }) }, "Look for it"))];
}

function needsReview(skill) {
  return skill.summary.state === "untrusted" && may("approve");
}

function concerns(message, reference) {
  const name = reference.slice(reference.lastIndexOf(":") + 1);
  return [...message.added, ...message.changed, ...message.removed].some((one) => one.name === name);
}

function buttons(skill, review, refresh) {
  const one = skill.summary;
  const runs = isUsable(one.state) && one.user_invocable && may("run");
  return [
    runs && h("a", { class: "button primary", href: href(`/run/${encodeURIComponent(one.name)}`, { fresh: "yes" }) }, icon("run"), "Run"),
    may("approve") && decisionButtons(skill, review, refresh),
  ].filter(Boolean);
}

// Why it stands so; of what a review says at length nothing is said twice.
function stateCard(skill, review, files) {
  const one = skill.summary;
  const isReviewed = review && !(review instanceof Error);
  const reasons = one.reasons.filter((reason) => !(isReviewed && reason.code === "untrusted"));
  return h(
    "section",
    { class: "card state-card", "aria-label": "State" },
    h("div", { class: "state-line" }, stateChip(one.state), h("span", {}, STATES[one.state].means), h("span", { class: "state-verdict" }, "Scanner: ", verdictChip(skill.scan.verdict))),
    reasons.length ? h("ul", { class: "problems" }, reasons.map((reason) => problemNode(reason, { files, folder: folderOf(one) }))) : null,
  );
}

const folderOf = (one) => one.path.slice(0, one.path.lastIndexOf("/") + 1);

function modelSection(skill) {
  const { tokens, state } = skill.summary;
  const seen = skill.model_sees
    ? code(skill.model_sees)
    : h("p", { class: "quiet" }, state === "manual" ? "Nothing: only people start it." : "Nothing, as it stands now.");
  const first = skill.model_sees ? `about ${plural(tokens.catalog, "token")} in every turn, ` : "about ";
  const more = skill.model_sees ? `${count(tokens.body)} more` : plural(tokens.body, "token");
  return section("What the model sees", { sub: `${first}${more} when it is loaded` }, seen);
}

function bodySection(skill) {
  if (!skill.body) return null;
  return section("Text", { sub: "what is loaded when it is used" }, code(skill.body, { class: "body", "aria-label": "Text of the skill" }));
}

function diagnosticsSection(diagnostics, about) {
  if (diagnostics.length === 0) return null;
  return section("Notices about its file", {}, h("ul", { class: "card problems" }, diagnostics.map((one) => problemNode(one, about))));
}

function factsSection(skill) {
  const one = skill.summary;
  const by = [one.model_invocable && "the model", one.user_invocable && "people"].filter(Boolean).join(" and ");
  const needs = Object.entries(one.requires).flatMap(([kind, names]) => names.map((name) => `${name} (${kind.replace("_", " ")})`));
  return section("About", {}, h("div", { class: "card" }, facts([
    ["Name", h("span", { class: "mono" }, one.name)],
    ["Version", one.version && one.version !== UNSAID ? one.version : null],
    ["Scope", one.layer && one.layer !== one.scope ? `${one.scope} (${one.layer})` : one.scope],
    ["Kind", KINDS[one.format] ?? one.format],
    ["Started by", by || "nobody"],
    ["Works in", one.context === "fork" ? "a conversation of its own" : "the conversation that loads it"],
    ["Tools", one.allowed_tools.length ? tags(one.allowed_tools) : null],
    ["Needs", needs.length ? tags(needs) : null],
    ["Homepage", one.homepage && outside(one.homepage)],
    ["File", h("span", { class: "mono" }, one.path)],
    ["Digest", one.digest && h("span", { class: "mono" }, one.digest)],
    ["Config", [!skill.enabled && "switched off", skill.pinned && "pinned"].filter(Boolean).join(", ")],
  ])));
}

function tags(values) {
  return h("span", { class: "tags" }, values.map((one) => h("span", { class: "tag" }, one)));
}

// Its files, each as it is in the skill that is shown here: of another one the daemon tells nothing.
function filesOf(skill, review, name) {
  const programs = new Set(review?.programs ?? []);
  const files = skill.files.map((one) => ({ ...one, program: one.executable || programs.has(one.path) }));
  return fileList(files, (one) => request("get_skill_file", { name, path: one.path, digest: skill.summary.digest ?? "" }));
}

function filesSection(skill, files) {
  if (skill.files.length === 0) return null;
  return section("Files", { sub: plural(skill.files.length, "file"), id: "files" }, files.element);
}
