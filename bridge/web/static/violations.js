// Violations of Constraints: which nodes and policies violate which, as a sign, words and a list.

import { h } from "./dom.js";
import { objectLink } from "./links.js";

const LISTED = 5; // violations of a Constraint in the overview
// The number of signs is the severity. Never a color alone: the words are beside a sign, or point at it.
const SIGNS = { high: "!!!", medium: "!!", low: "!", unknown: "?" };
const TONES = { deny: "refused", warn: "partly" };

/**
 * A violation; `target` is the node or policy at fault, of the `object`.
 *
 * @typedef {{constraint: string, enforcementAction: string, severity: string, object: string, target: string, message: string,
 *   exemption?: {owner: string, reason: string, until: string}}} Violation
 */

export class Violations {
  total = 0;
  /** @type {{constraint: string, enforcementAction: string, severity: string, total: number, exempted: number}[]} */
  constraints = [];
  /** The keys of all Constraints, also of those that nothing violates. */
  names = [];
  #at = new Map(); // node or policy -> its violations, the most severe first
  #of = new Map(); // Constraint -> its violations

  /** Read the bridge's document, in which a large number of violations is cut, and the keys of all Constraints. */
  load({ total, constraints, violations }, names) {
    Object.assign(this, { total, constraints, names });
    this.#at = Map.groupBy(violations, ({ target }) => target);
    this.#of = Map.groupBy(violations, ({ constraint }) => constraint);
  }

  /** @returns {Violation[]} */
  at(key) {
    return this.#at.get(key) ?? [];
  }

  /** Whether a node, or a policy at it, violates one of these Constraints. */
  concern(node, constraints) {
    return [node.key, ...node.policies.map(({ policy }) => policy)].some((key) => this.at(key).some(({ constraint }) => constraints.has(constraint)));
  }

  /** The keys of nodes and policies at fault, and of their objects. */
  concerned() {
    return [...this.#at].flatMap(([key, found]) => [key, ...found.map(({ object }) => object)]);
  }

  /** The number of violations by each object. */
  counts() {
    const found = new Map();
    for (const all of this.#of.values()) for (const { object } of all) found.set(object, (found.get(object) ?? 0) + 1);
    return found;
  }

  /** The mark of a node or policy: {sign, tone, words}; undefined without a violation. */
  mark(key) {
    const [first] = this.at(key);
    return first && { sign: signOf(first), tone: toneOf(first), words: `violates ${this.at(key).map((one) => `${one.constraint} (${wordsOf(one)})`).join(", ")}` };
  }

  /** The overview: the violated Constraints, the most severe first; `only(constraints)` shows these alone. */
  part(topology, only) {
    if (!this.constraints.length) return null;
    return h("section", { class: "violations" }, h("h3", { tabindex: -1 }, `Violations (${this.total.toLocaleString("en")})`),
      this.constraints.map((one, at) => this.#group(one, at === 0, topology, only)),
      this.constraints.length > 1 && button("Show only violations", () => only(this.constraints.map(({ constraint }) => constraint))));
  }

  /** The violations of one Constraint. */
  partOfConstraint(name, topology, only) {
    const found = this.constraints.filter(({ constraint }) => constraint === name);
    return h("section", { class: "violations" }, h("h4", {}, "Violations"), found.map((one) => this.#group(one, true, topology, only)),
      !found.length && h("p", { class: "quiet" }, "No object violates it."));
  }

  #group(one, open, topology, only) {
    const found = (this.#of.get(one.constraint) ?? []).slice(0, LISTED);
    return h("details", { open },
      h("summary", {}, sign(one), ` ${one.constraint} `, h("span", { class: "word" }, [wordsOf(one), one.total > 0 && one.total.toLocaleString("en"), one.exempted > 0 && `${one.exempted.toLocaleString("en")} exempt`].filter(Boolean).join(" · "))),
      h("ul", { class: "stack" }, found.map((violation) => row(violation, topology))),
      one.total + one.exempted > found.length && h("p", { class: "quiet" }, `and ${(one.total + one.exempted - found.length).toLocaleString("en")} more`),
      button("Show only these", () => only([one.constraint])));
  }

  /** The violations of one node or policy. */
  partOf(key) {
    if (!this.at(key).length) return null;
    return h("section", { class: "violations" }, h("h4", {}, "Violations"), h("ul", { class: "stack" }, this.at(key).map((one) =>
      h("li", { class: toneOf(one) }, sign(one), h("span", {}, one.constraint, " ", h("span", { class: "word" }, wordsOf(one))), h("span", { class: "quiet" }, said(one))))));
  }
}

const button = (text, click) => h("p", {}, h("button", { type: "button", class: "action", on: { click } }, text));

function row(violation, topology) {
  return h("li", {}, h("span", {}), h("span", {}, objectLink(violation.target, topology)), h("span", { class: "quiet" }, said(violation)));
}

/** @param {Violation} violation */
const said = ({ message, exemption }) => (exemption ? `${message}. Exempt until ${exemption.until} by ${exemption.owner}: ${exemption.reason}` : message);

const signOf = ({ severity }) => SIGNS[severity] ?? "!";
const toneOf = ({ enforcementAction }) => TONES[enforcementAction] ?? "idle";
const wordsOf = ({ enforcementAction, severity }) => [enforcementAction, severity].filter(Boolean).join(", ");
const sign = (one) => h("span", { class: `violation ${toneOf(one)}`, "aria-hidden": "true" }, signOf(one));
