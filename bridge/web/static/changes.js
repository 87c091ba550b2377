// The form for manifests: what applying them would change, as text and in the picture.

import { changes } from "./api.js";
import { announce, byId, fill, focusGuard, h, showError, showVerdict } from "./dom.js";
import { differencePart } from "./details.js";
import { byName, parts, short } from "./keys.js";
import { nodeLink, policyLink } from "./links.js";
import { reasonMark } from "./reasons.js";

const SHOWN = 40; // differences
const ROUTES = 5; // routes that are named at a backend
const OPEN = 3; // groups of differences that are open at first

/** `on`: `changed(Map key -> sign, added)`; `isPolicy(key)` decides how a key is shown; `routesAbove(key)` of a backend. */
export class ChangesBox {
  #on;
  #turn = 0;
  #hasAnswer = false; // that is current
  #isLate = false; // whether objects have changed since the question

  constructor(on) {
    this.#on = on;
    byId("changes-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
    byId("changes-clear").addEventListener("click", () => {
      this.#turn += 1;
      byId("changes-form").reset();
      showError(byId("changes-form"), "");
      fill(byId("changes-answer"));
      this.#hasAnswer = false;
      on.changed(new Map(), new Map());
      announce("The form is empty.");
    });
  }

  /** Objects have changed: the answer is about the state before. It is not computed again by itself, because that is costly. */
  outdate() {
    this.#isLate = true;
    if (!this.#hasAnswer) return;
    this.#hasAnswer = false;
    const answer = byId("changes-answer");
    const verdict = answer.querySelector(".verdict");
    if (verdict) verdict.className = "verdict";
    answer.prepend(h("p", { class: "outdated", role: "status" }, "Objects have changed since this answer. ",
      h("button", { type: "button", class: "action", on: { click: () => this.#ask() } }, "Compare again")));
  }

  async #ask() {
    const turn = (this.#turn += 1);
    const mayFocus = focusGuard();
    this.#hasAnswer = this.#isLate = false;
    const answer = byId("changes-answer");
    const deleted = byId("changes-delete").value.split(/\s+/).filter(Boolean);
    showError(byId("changes-form"), "");
    fill(answer, h("p", { class: "quiet" }, "Comparing …"));
    announce("Comparing …");
    let analysis;
    try {
      analysis = await changes(byId("changes-text").value, deleted);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#on.changed(new Map(), new Map());
      fill(answer);
      const isDeletion = deleted.some((name) => error.message.includes(name));
      showError(byId("changes-form"), error.message, byId(isDeletion ? "changes-delete" : "changes-text"), mayFocus);
      return;
    }
    if (turn !== this.#turn) return;
    fill(answer, h("h3", { class: "spoken" }, "Answer"), summary(analysis), this.#problems(analysis), effective(analysis, this.#on.routesAbove));
    this.#hasAnswer = true;
    if (this.#isLate) this.outdate();
    announce(answer.querySelector(".verdict").textContent);
    this.#on.changed(marks(analysis), added(analysis));
    if (mayFocus()) showVerdict(answer);
  }

  #problems({ mistakes = [], problems }) {
    const list = (title, found, tone, sign) => found.length > 0 && h("section", {}, h("h4", {}, `${title} (${found.length})`), rows(found, tone, sign));
    const rows = (found, tone, sign) => [
      found.slice(0, SHOWN).map(({ subject, about, reason, message, enforcementAction }) =>
        h("p", { class: tone }, h("span", { class: "sign", "aria-hidden": "true" }, sign), " ", this.#named(subject), ": ",
          isViolation({ reason }) ? h("strong", {}, `${parts(about).name} (${enforcementAction})`) : reasonMark(reason), ` – ${message}`)),
      found.length > SHOWN && h("p", { class: "quiet" }, `and ${(found.length - SHOWN).toLocaleString("en")} more`),
    ];
    const existing = problems.unchanged.filter(isViolation);
    return [
      mistakes.length > 0 && h("section", {}, h("h4", {}, `Mistakes in the manifest (${mistakes.length})`),
        h("ul", { class: "mistakes" }, mistakes.map(({ line, message }) => h("li", { class: "refused" }, `Line ${line}: ${message}`)))),
      list("New violations", problems.introduced.filter(isViolation), "refused", "✕"),
      list("Problems introduced", problems.introduced.filter((one) => !isViolation(one) && isError(one)), "refused", "✕"),
      list("Warnings introduced", problems.introduced.filter((one) => !isViolation(one) && !isError(one)), "quiet", "!"),
      list("Problems and violations fixed", problems.fixed, "fixed", "✓"),
      existing.length > 0 && h("details", { class: "group" }, h("summary", {}, `Violations that exist already (${existing.length})`), rows(existing, "quiet", "!")),
    ];
  }

  #named(key) {
    return this.#on.isPolicy(key) ? policyLink(key) : nodeLink(key);
  }
}

/** A violation of a Constraint, among the problems. */
const isViolation = ({ reason }) => reason === "Violation";

/** A problem that makes `pbctl analyze` fail: neither a warning nor a violation of a Constraint that does not deny. */
const isError = ({ enforcementAction = "deny" }) => enforcementAction === "deny";

function summary({ objects, effective: differences, problems, mistakes = [] }) {
  const counts = [["created", "+"], ["changed", "△"], ["deleted", "−"], ["unchanged", "="]]
    .filter(([name]) => objects[name].length)
    .map(([name, sign]) => h("li", {}, h("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${objects[name].length} ${name}: `,
      objects[name].slice(0, 6).map((key, at) => [at > 0 && ", ", short(key)]), objects[name].length > 6 && " …"));
  const bad = problems.introduced.some(isError) || mistakes.length > 0;
  const broken = problems.introduced.filter(isViolation).length;
  const others = problems.introduced.filter((one) => !isViolation(one));
  const wrong = others.filter(isError).length;
  const introduced = [[broken, "violation"], [wrong, "problem"], [others.length - wrong, "warning"]]
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  const changed = targetsOf(differences.filter(({ sameFields }) => !sameFields));
  const shaded = targetsOf(differences).size - changed.size; // other policies are overridden there
  const changesAny = differences.length > 0 || introduced.length > 0 || ["created", "changed", "deleted"].some((name) => objects[name].length > 0);
  if (mistakes.length && !counts.length) {
    return h("p", { class: "verdict bad", role: "alert" }, "✕ The manifests cannot be read: nothing was compared.");
  }
  return [
    h("p", { class: `verdict ${bad ? "bad" : changesAny ? "changes" : "good"}` }, bad ? "✕ " : changesAny ? "△ " : "✓ ",
      changed.size ? `Effective policies change at ${numbered(changed.size, "target")}` : "No effective policy changes",
      shaded > 0 && `; at ${numbered(shaded, changed.size ? "other" : "target")}, only overridden policies change`,
      introduced.length > 0 && `, and the change introduces ${new Intl.ListFormat("en-US").format(introduced)}`,
      mistakes.length > 0 && `; documents with mistakes are left out`, "."),
    h("ul", { class: "summary" }, counts),
  ];
}

const targetsOf = (differences) => new Set(differences.map(({ target }) => target));
const numbered = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** Differences in groups: of a route (with its rules), of a Gateway (with its listeners), or of another object, first those of fields. */
function effective({ effective: differences }, routesAbove) {
  if (!differences.length) return null;
  const groups = Map.groupBy(differences, ({ target }) => parts(target).object);
  let free = SHOWN;
  const shown = [...groups].sort(([one], [other]) => byName(one, other)).map(([object, found], at) => {
    const routes = routesAbove(object);
    const taken = found.sort((one, other) => Number(one.sameFields ?? false) - Number(other.sameFields ?? false)).slice(0, Math.max(0, free));
    free -= taken.length;
    return taken.length > 0 && h("details", { class: "group", ...(at < OPEN ? { open: true } : {}) },
      h("summary", {}, `${short(object)} (${numbered(targetsOf(found).size, "target")})`), nodeLink(object, `Show ${short(object)}`),
      routes.length > 0 && h("p", { class: "quiet" }, "Receives requests from ", routes.slice(0, ROUTES).map((route, each) => [each > 0 && ", ", nodeLink(route)]), routes.length > ROUTES && ` and ${numbered(routes.length - ROUTES, "other")}`),
      taken.map((one) => differencePart(one)));
  });
  return h("section", {}, h("h4", {}, "Effective policies"), shown,
    differences.length > SHOWN && h("p", { class: "quiet" }, `and ${(differences.length - SHOWN).toLocaleString("en")} more; pbctl analyze shows all of them.`));
}

/** Marks of the picture: objects of the manifests, and targets at which more than overridden policies changes. */
function marks({ objects, effective: differences }) {
  const found = new Map();
  for (const one of differences) if (!one.sameFields) found.set(one.target, "△"); // it stays, also where it gets or loses its only policy
  for (const [name, sign] of [["created", "+"], ["changed", "△"], ["deleted", "−"]]) for (const key of objects[name]) found.set(key, sign);
  return found;
}

/** Policies that do not exist yet, by the node that they would be attached to. */
function added({ outcomes, effective: differences }) {
  const found = new Map();
  for (const { policyKind, after } of differences) {
    for (const { policy, target } of after?.policies ?? []) {
      if (!(policy in outcomes)) continue;
      const there = found.get(target) ?? new Map();
      there.set(policy, { policy, policyKind, outcome: outcomes[policy], accepted: true, reasons: [] });
      found.set(target, there);
    }
  }
  return new Map([...found].map(([target, policies]) => [target, [...policies.values()]]));
}
