// What registries have; what would come of installing one of it; and installing exactly that.

import { request, stream } from "../connection.js";
import { confirm } from "../dialogs.js";
import { h, replace } from "../dom.js";
import { count, plural } from "../format.js";
import { icon } from "../icons.js";
import { chip, code, facts, fold, head, section, select, table } from "../parts.js";
import { reviewSection } from "../review.js";
import { href, navigate, remember } from "../router.js";
import { findingsSection, powerSection } from "../scanned.js";
import { problemNode, verdictChip } from "../skillwords.js";
import { fileList } from "../sources.js";
import { empty, failed, loading } from "../states.js";
import { toast, toastError } from "../toasts.js";

export const title = "Registry";
export const path = "/registry";
export const paths = ["/registry/plan"];

const SIGNATURES = { good: "good", unsigned: "off", untrusted: "warn", bad: "bad", revoked: "bad" };

export function render(view, params) {
  return params.ref === undefined ? renderSearch(view, params) : renderPlan(view, params.ref, params.scope === "project" ? "project" : "user");
}

async function renderSearch(view, params) {
  const place = h("div", {});
  const input = h("input", { type: "search", "aria-label": "What you need", placeholder: "What you need, or what to install", value: params.q ?? "", autocomplete: "off", spellcheck: "false" });
  let registry = params.registry ?? "";

  async function search(event) {
    event?.preventDefault();
    const query = input.value.trim();
    if (!query) return;
    remember(path, { q: query, registry });
    replace(place, loading("Asking"));
    try {
      const found = await request("search_registry", { query, registry, limit: 50 });
      if (!view.isLeft) replace(place, results(found));
    } catch (error) {
      replace(place, failed(error, search));
    }
  }

  await view.load(() => request("list_registries"), ({ registries }) => {
    if (registries.length === 0) return [head(title), empty("No registry is in use", "Add one, then search it here.", h("code", {}, "weft registries add NAME URL"))];
    const options = [["", "All registries"], ...registries.map((one) => [one.name, one.name])];
    return [
      head(title, { sub: "Skills of others. Each is downloaded, checked and scanned first; you see what it could do before anything is installed." }),
      h(
        "form",
        { class: "bar", role: "search", onsubmit: search },
        h("div", { class: "search" }, icon("search"), input),
        registries.length > 1 ? select({ label: "Registry", value: registry, options, onChange: (one) => (registry = one) }) : null,
        h("button", { type: "submit", class: "primary" }, "Search"),
        h("button", { type: "button", onclick: () => input.value.trim() && navigate("/registry/plan", { ref: input.value.trim() }) }, "Look at this reference"),
      ),
      place,
      h("div", { class: "registries" }, fold("Where skills come from", table({
        label: "Registries",
        rows: registries,
        columns: [
          { title: "Name", cell: (one) => [one.name, one.default && chip("default", "info")] },
          { title: "Address", class: "wide mono", cell: (one) => one.url },
          { title: "Kind", cell: (one) => one.kind },
          { title: "Token", class: "mono", cell: (one) => one.token ?? "" },
        ],
      }))),
    ];
  });
  if (input.value) search();
  else replace(place, empty("Search for what you need", "A reference works too: a name, @owner/name, a repository, an address or a path.", h("code", {}, "weft skills search --hub WORDS")));
}

function results(found) {
  const failures = found.failed.map((one) => h("p", { class: "notice registry-failed" }, sentences(one.registry, one.problem)));
  return [
    failures,
    table({
      label: "What registries have",
      rows: found.results,
      none: found.failed.length ? h("div", {}) : empty(`No registry has anything for “${found.query}”`, "Try other words."),
      open: (one) => href("/registry/plan", { ref: one.reference }),
      columns: [
        { title: "Skill", class: "wide", cell: (one) => [one.reference, h("span", { class: "under" }, one.summary)] },
        { title: "Version", class: "nowrap", cell: (one) => one.version ?? "" },
        { title: "Registry’s verdict", cell: (one) => (one.verdict ? verdictChip(one.verdict.status) : h("span", { class: "quiet" }, "nothing")) },
        { title: "Downloads", class: "number", cell: (one) => count(one.downloads) },
        { title: "Registry", cell: (one) => one.registry },
      ],
    }),
  ];
}

// What a registry did not answer, as whole sentences.
function sentences(registry, { message, hint }) {
  const ended = (text) => (/[.!?…]$/.test(text) ? text : `${text}.`);
  return [`${registry} was not searched. ${ended(message)}`, hint ? ended(hint) : ""].join(" ");
}

function renderPlan(view, reference, scope) {
  const progress = h("p", { class: "quiet", role: "status" }, "Downloading and scanning…");
  const tell = (message) => replace(progress, message.total ? `${message.done} of ${plural(message.total, "skill")} downloaded and scanned` : "Downloading…");
  const back = { href: `#${path}`, text: title };
  view.setTitle(reference);
  view.show(head(reference, { back }), loading("Looking at it"), progress);
  return view.load(() => stream("plan_install", { reference, scope }, tell), (plan) => {
    const main = plan.skills.find((one) => one.requested) ?? plan.skills[0];
    const isSame = plan.skills.every((one) => one.same);
    const verb = isSame ? "Install again" : main.previous_version !== null ? "Update" : "Install";
    const install = h("button", { type: "button", class: "primary", disabled: plan.refused.length > 0, onclick: () => carryOut(plan, verb, install) }, verb);
    return [
      head(main.name, { back, sub: sourceLine(main), actions: [scopeChoice(reference, scope), install] }),
      plan.refused.length ? section("What speaks against it", {}, h("ul", { class: "card problems" }, plan.refused.map((one) => problemNode(one))), h("p", { class: "quiet" }, "It cannot be installed from here. Whoever knows better can do so in a terminal.")) : null,
      isSame ? h("p", { class: "notice" }, "It is installed already, exactly as it is there.") : null,
      plan.skills.map((one) => planned(one, plan)),
    ];
  });
}

function scopeChoice(reference, scope) {
  const options = [["user", "For all my projects"], ["project", "For this project"]];
  return select({ label: "Where", value: scope, options, onChange: (chosen) => navigate("/registry/plan", { ref: reference, scope: chosen }) });
}

const sourceLine = (one) => `${one.version || one.commit.slice(0, 12)} from ${one.source.url}`;

function planned(one, plan) {
  const review = one.review;
  const files = fileList(review.texts, async (file) => file);
  const isRefused = (said) => plan.refused.some((other) => other.code === said.code && other.message.endsWith(said.message));
  const said = [...one.diagnostics.filter((problem) => !isRefused(problem)), ...one.unmet];
  return h(
    "div",
    { class: "planned" },
    plan.skills.length > 1 ? h("h2", { class: "planned-name" }, one.name, one.requested ? null : chip("needed by it", "info")) : null,
    h("div", { class: "card" }, facts([
      ["Verdict", verdictChip(one.verdict)],
      ["Version", one.previous_version && one.previous_version !== one.version ? `${one.previous_version} → ${one.version}` : one.version],
      ["Signature", signature(one.signature)],
      ["Source", one.source.owner ? `${one.source.owner}/${one.source.slug}` : one.source.url],
      ["Commit", one.commit && h("span", { class: "mono" }, one.commit.slice(0, 12))],
      ["Goes to", h("span", { class: "mono" }, Object.values(one.paths).join(", "))],
      ["Needs the skills", one.dependencies.join(", ")],
    ])),
    one.previous_version !== null && one.changelog ? section("Changelog", {}, h("div", { class: "card said" }, one.changelog.slice(0, 2000))) : null,
    said.length ? section("To know", {}, h("ul", { class: "card problems" }, said.map((problem) => problemNode(problem)))) : null,
    powerSection(review.power, review.undeclared),
    reviewSection(review),
    section("Files", { sub: plural(review.texts.length, "file") }, files.element),
    findingsSection(one.scan, files),
    section("What it says", { sub: "to the model, once it is loaded" }, one.body ? code(one.body) : h("p", { class: "quiet" }, "Nothing that could be read.")),
  );
}

function signature(one) {
  const who = one.publisher ? ` of ${one.publisher}` : "";
  return [chip(one.state, SIGNATURES[one.state] ?? "warn"), `${who}${one.reason ? ` (${one.reason})` : ""}`];
}

async function carryOut(plan, verb, button) {
  const names = plan.skills.map((one) => one.name);
  const programs = plan.skills.reduce((sum, one) => sum + one.review.programs.length, 0);
  const agreed = await confirm({
    title: `${verb} and approve ${names.join(", ")}?`,
    body: [
      h("p", {}, "The model may use it from then on, exactly as it is now. Nothing of it runs while it is installed."),
      h("p", {}, programs ? `It brings ${plural(programs, "program")}.` : "It brings no programs."),
    ],
    action: verb,
  });
  if (!agreed) return;
  button.disabled = true;
  button.textContent = "Installing…";
  try {
    const done = await stream("install_skill", { reference: plan.reference, scope: plan.scope, plan: plan.plan }, () => {});
    for (const one of done.diagnostics) toast(one.message, { detail: one.hint ?? "" });
    toast(`Installed: ${names.join(", ")}`, { kind: "good" });
    navigate(`/skills/${encodeURIComponent(plan.skills.find((one) => one.requested)?.name ?? names[0])}`);
  } catch (error) {
    toastError(error);
    button.disabled = false;
    button.textContent = verb;
  }
}
