// All objects and policies as a table that users sort: by namespace first, by outcome, problems, or age.

import { byId, breakable, fill, h, scrollWithin } from "./dom.js";
import { fieldNote, isFound, isFoundPolicy } from "./finding.js";
import { nothingShown } from "./filtering.js";
import { byName, kindName, NOTHING, parts, short } from "./keys.js";
import { LEVELS } from "./layout.js";
import { outcomeNamed, outcomeOf, OUTCOMES } from "./outcomes.js";

const SHOWN = 200; // rows at once
const COLUMNS = [
  { name: "namespace", title: "Namespace" },
  { name: "kind", title: "Kind" },
  { name: "name", title: "Name" },
  { name: "outcome", title: "Outcome" },
  { name: "problems", title: "Problems", isNumber: true },
  { name: "age", title: "Age", isNumber: true },
];
/** @type {[number, string][]} */
const UNITS = [[86_400, "d"], [3_600, "h"], [60, "m"], [1, "s"]];

/** `on`: `choose(key)`, `sort(by)`: a column's name, with "-" before it if the order is descending. */
export class List {
  #on;
  #rows = [];
  #shown = SHOWN;
  #drawn; // the rows as they were made, which many changes do not alter
  #at = 0; // the row that has the one tab stop
  #chosen; // the key to which it has scrolled

  constructor(on) {
    this.#on = on;
    const table = byId("list-rows");
    byId("list-more").addEventListener("click", () => {
      this.#shown += SHOWN;
      this.#fill();
    });
    table.addEventListener("click", (event) => {
      const at = [...table.rows].indexOf(event.target.closest("tr"));
      if (at < 0) return;
      this.#rove(at);
      on.choose(this.#rows[at].key);
    });
    byId("list").addEventListener("keydown", (event) => this.#pressed(event));
    fill(byId("list-head"), COLUMNS.map(({ name, title, isNumber }) => h("th", { scope: "col", class: isNumber ? "number" : name, data: { column: name } },
      h("button", { type: "button", tabindex: -1, on: { click: () => this.#sort(name) } }, title, h("span", { class: "arrow", "aria-hidden": "true" })))));
  }

  /** Draw rows: of `topology` and `wire` those that `filtered` lists and the search finds. */
  draw(topology, filtered, { chosen, words, matches, violations, sort, filters }, wire) {
    const rows = [...objectRows(topology, filtered, words), ...policyRows(topology, filtered, words, matches, wire)];
    const problems = wire.problemCounts();
    const violated = violations.counts();
    for (const row of rows) row.problems = (problems.get(row.key) ?? 0) + (violated.get(row.key) ?? 0);
    this.#rows = sorted(rows, sort);
    const [by, isDescending] = [sort.replace("-", ""), sort.startsWith("-")];
    for (const head of byId("list-head").children) {
      if (head.dataset.column === by) head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = head.dataset.column === by ? (isDescending ? " ▾" : " ▴") : "";
    }
    const at = this.#rows.findIndex(({ key }) => key === chosen);
    if (at >= this.#shown) this.#shown = at + SHOWN;
    const wasInSight = this.#isInSight(chosen); // rows that are added above it must not push it out of view
    byId("list").classList.toggle("ageless", !rows.some(({ created }) => created));
    this.#fill(chosen, wire.isComputing);
    if (at >= 0 && wasInSight) scrollWithin(byId("list"), byId("list-rows").rows[at]);
    byId("list-empty").hidden = this.#rows.length > 0;
    byId("list-empty").textContent = words.length ? "Nothing matches this search and the filters." : nothingShown(filters, topology, wire);
    if (chosen !== this.#chosen && (at >= 0 || !chosen) && byId("list").offsetHeight > 0) {
      this.#chosen = chosen;
      if (at >= 0 && !this.#isInSight(chosen)) scrollWithin(byId("list"), byId("list-rows").rows[at], true);
    }
  }

  #isInSight(key) {
    const row = key && [...byId("list-rows").rows].find(({ dataset }) => dataset.key === key)?.getBoundingClientRect();
    const list = byId("list").getBoundingClientRect();
    return Boolean(row) && row.top >= list.top && row.bottom <= list.bottom + 1;
  }

  #fill(chosen = this.#chosen, isComputing = false) {
    const now = Date.now();
    const rows = this.#rows.slice(0, this.#shown);
    const made = fill(document.createElement("tbody"), rows.map((row) => rowPart(row, row.key === chosen, isComputing, now)));
    const more = this.#rows.length - rows.length;
    byId("list-more").hidden = more <= 0;
    byId("list-more").textContent = `Show ${Math.min(SHOWN, more)} more of ${this.#rows.length.toLocaleString("en")}`;
    if (this.#drawn?.isEqualNode(made)) return;
    this.#drawn = made.cloneNode(true);
    const table = byId("list-rows");
    const active = document.activeElement;
    const had = active instanceof HTMLElement && table.contains(active) ? active.dataset.key : undefined;
    table.replaceChildren(...made.children);
    const at = rows.findIndex(({ key }) => key === (had ?? chosen));
    this.#rove(Math.max(0, at));
    if (had !== undefined) table.rows[this.#at]?.focus({ preventScroll: true });
  }

  #sort(name) {
    const { ariaSort } = byId("list-head").querySelector(`[data-column=${name}]`);
    const first = ["problems", "outcome"].includes(name) ? "-" : ""; // the worst first
    this.#on.sort(ariaSort ? (ariaSort === "ascending" ? `-${name}` : name) : first + name);
  }

  /** Arrow keys move between rows, and above the first one between the titles, which sort. */
  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const titles = [...byId("list-head").querySelectorAll("button")];
    const title = titles.indexOf(document.activeElement);
    const isRow = byId("list-rows").contains(document.activeElement);
    const last = byId("list-rows").rows.length - 1;
    const moves = { ArrowDown: this.#at + 1, ArrowUp: this.#at - 1, Home: 0, End: last, PageDown: Math.min(last, this.#at + 10), PageUp: Math.max(0, this.#at - 10) };
    if (isRow && event.key === "Enter") this.#on.choose(this.#rows[this.#at].key);
    else if (isRow && event.key === "ArrowUp" && this.#at === 0) titles[0].focus();
    else if (isRow && event.key in moves) this.#go(moves[event.key]);
    else if (title >= 0 && event.key === "ArrowDown") this.#go(this.#at);
    else if (title >= 0 && ["ArrowLeft", "ArrowRight"].includes(event.key)) titles.at((title + (event.key === "ArrowRight" ? 1 : -1)) % titles.length).focus();
    else return;
    event.preventDefault();
  }

  #go(at) {
    const row = byId("list-rows").rows[at];
    if (!row) return;
    this.#rove(at);
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  #rove(at) {
    const { rows } = byId("list-rows");
    if (rows[this.#at]) rows[this.#at].tabIndex = -1;
    this.#at = at;
    if (rows[at]) rows[at].tabIndex = 0;
  }
}

function* objectRows(topology, filtered, words) {
  const nodes = Map.groupBy([...topology.nodes.values()].filter(({ key, level }) => level !== NOTHING && !parts(key).role), ({ key }) => parts(key).object);
  for (const [key, own] of nodes) {
    if (!topology.has(key) || !own.some((node) => filtered.lists(node.key))) continue;
    const policies = own.flatMap((node) => filtered.policies(node.key));
    if (words.length && !own.some((node) => isFound(node, words))) continue;
    const node = topology.nodes.get(key);
    yield rowOf(key, node.created, LEVELS.indexOf(node.level), outcomesOf(policies), own.some(({ refused }) => refused.length > 0));
  }
}

function* policyRows(topology, filtered, words, matches, wire) {
  for (const key of wire.policyKeys()) {
    const attached = topology.policy(key) ?? wire.policy(key);
    if (!filtered.listsPolicy(attached, topology.shownAt(key))) continue;
    if (words.length && !matches.has(key) && !isFoundPolicy(attached, words)) continue;
    yield { ...rowOf(key, wire.policy(key).created, LEVELS.length, [outcomeOf(attached)]), note: (matches.get(key) ?? []).slice(0, 1).map(fieldNote).join("") };
  }
}

/** The outcomes of the policies at an object; the reason of one that is not accepted is its own, and says nothing about the object. */
function outcomesOf(policies) {
  const accepted = policies.filter((one) => one.accepted !== false);
  const ignored = policies.length - accepted.length;
  return [...accepted.map(outcomeOf), ...(ignored ? [{ ...outcomeNamed("Refused"), word: `${ignored} ${ignored === 1 ? "policy" : "policies"} ignored` }] : [])];
}

/** A row; the outcome of an object is the outcomes of the policies at it, each once, the worst first. */
function rowOf(key, created, rank, outcomes, hasRefused = false) {
  const { namespace, name, type } = parts(key);
  const distinct = [...new Map(outcomes.map((one) => [one.word, one])).values()].sort((one, other) => severity(other) - severity(one));
  return { key, namespace, kind: kindName(type), name, rank, created: Date.parse(created) || undefined, outcomes: distinct, severity: Math.max(-1, hasRefused ? OUTCOMES.length : -1, ...distinct.map(severity)), problems: 0 };
}

const severity = ({ tone }) => ["idle", "programmed", "partly", "overridden", "refused"].indexOf(tone);

function sorted(rows, sort) {
  const usual = (one, other) => byName(one.namespace, other.namespace) || one.rank - other.rank || byName(one.kind, other.kind) || byName(one.name, other.name);
  const number = (value) => (one, other) => value(one) - value(other);
  const by = {
    namespace: (one, other) => byName(one.namespace, other.namespace),
    kind: (one, other) => byName(one.kind, other.kind),
    name: (one, other) => byName(one.name, other.name),
    outcome: number((row) => row.severity),
    problems: number((row) => row.problems),
    age: number((row) => -(row.created ?? Number.MAX_SAFE_INTEGER)),
  }[sort.replace("-", "")];
  const sign = sort.startsWith("-") ? -1 : 1;
  return rows.sort((one, other) => sign * by(one, other) || usual(one, other));
}

function rowPart({ key, namespace, kind, name, note, outcomes, problems, created }, isChosen, isComputing, now) {
  return h("tr", { tabindex: -1, "aria-selected": String(isChosen), title: short(key), data: { key } },
    h("td", { class: "namespace" }, namespace), h("td", { class: "kind" }, kind), h("td", { class: "name" }, breakable(name), h("span", { class: "note of-kind" }, namespace && `${namespace} · `, kind), note && h("span", { class: "note" }, note)),
    h("td", {}, outcomes.map(({ sign, word, tone }, at) => h("span", { class: `outcome ${tone}`, title: word }, h("span", { class: "sign", "aria-hidden": "true" }, sign),
      h("span", { class: at > 0 ? "spoken" : "" }, `${at > 0 ? "," : ""} ${word || (isComputing ? "computing …" : "")}`)))),
    h("td", { class: problems ? "number bad" : "number" }, problems ? problems.toLocaleString("en") : ""),
    h("td", { class: "number", title: created && new Date(created).toLocaleString("en") }, created ? age(now - created) : "–"));
}

/** `4d` of a duration in milliseconds, as kubectl shows ages. */
function age(duration) {
  const seconds = Math.max(0, Math.floor(duration / 1000));
  const [length, unit] = UNITS.find(([one]) => seconds >= one) ?? [1, "s"];
  return `${Math.floor(seconds / length)}${unit}`;
}
