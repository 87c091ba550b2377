// The bridge's documents and events, converted to the page's nodes.

import { NOTHING, nothingIn, parts } from "./keys.js";

/** Nodes and policies in the bridge's form, with the changes applied. */
export class Wire {
  #nodes = new Map();
  #policies = new Map();
  #users = new Map(); // policy -> Set of the nodes that name it
  #nothing = new Map(); // key -> node for policies that are attached to nothing
  revision = "";
  total = 0; // all nodes, loaded or not
  isWhole = false; // whether all nodes were loaded
  /** @type {any[] | undefined} Problems beside links and outcomes of policies; undefined until they are loaded. */
  #beside = undefined;
  hasOutcomes = false; // whether the bridge has computed the outcomes of all policies

  /** Read a topology document. Returns its nodes. */
  load(document) {
    this.revision = document.revision;
    this.total = document.total;
    this.isWhole = document.whole && document.total <= Object.keys(document.nodes).length;
    this.#nodes = new Map(Object.entries(document.nodes));
    this.#policies = new Map(Object.entries(document.policies));
    this.#users.clear();
    for (const [key, node] of this.#nodes) this.#use(key, node);
    this.#nothing = this.#unattached();
    return [...[...this.#nodes.keys()].map((key) => this.#read(key)), ...this.#nothing.values()];
  }

  /** Whether a revision of the bridge, `<epoch>-<number>`, is part of what was loaded. */
  has(revision) {
    const [epoch, number] = revision.split("-");
    const [own, latest] = this.revision.split("-");
    return epoch === own && Number(number) <= Number(latest);
  }

  /** Apply an event of the stream. Returns {upsert: nodes, gone: keys}, with the nodes of changed policies. */
  change({ revision, total, nodes = {}, gone = [], policies = {}, gonePolicies = [] }) {
    this.revision = revision;
    this.total = total;
    // Of a topology that is not loaded whole, only what is loaded is kept current.
    const known = this.isWhole ? nodes : Object.fromEntries(Object.entries(nodes).filter(([key]) => this.#nodes.has(key)));
    const touched = new Set(Object.keys(known));
    for (const [policy, entry] of Object.entries(policies)) {
      this.#policies.set(policy, entry);
      for (const key of this.#users.get(policy) ?? []) touched.add(key);
    }
    for (const policy of gonePolicies) this.#policies.delete(policy);
    for (const key of gone) {
      this.#unuse(key);
      this.#nodes.delete(key);
      touched.delete(key);
    }
    for (const [key, node] of Object.entries(known)) {
      this.#unuse(key);
      this.#nodes.set(key, node);
      this.#use(key, node);
    }
    const before = this.#nothing;
    this.#nothing = this.#unattached();
    const empty = [...before.keys()].filter((key) => !this.#nothing.has(key));
    return { upsert: [...[...touched].map((key) => this.#read(key)), ...this.#nothing.values()], gone: [...gone, ...empty] };
  }

  /** Nodes for the policies that are attached to no node. Unknown for a topology that is not loaded whole. */
  #unattached() {
    const found = new Map();
    if (!this.isWhole) return found;
    for (const policy of this.#policies.keys()) {
      if (this.#users.has(policy)) continue;
      const key = nothingIn(policy);
      if (!found.has(key)) found.set(key, { key, count: 0, level: NOTHING, parents: [], leadsTo: [], hostnames: [], created: "", policies: [], refused: [] });
      found.get(key).policies.push(this.policy(policy));
    }
    return found;
  }

  /** The number of loaded policies. */
  get policies() {
    return this.#policies.size;
  }

  /** A policy that is attached to nothing, or anything: {policy, policyKind, accepted, reason, outcome, differs, reasons, created}. */
  policy(key) {
    const { policyKind, conditions, created } = this.#policies.get(key);
    const { status, reason } = conditions.find(({ type }) => type === "Accepted") ?? {};
    return { ...this.#withOutcome({ policy: key, policyKind, accepted: status !== "False", reason }), created };
  }

  isPolicy(key) {
    return this.#policies.has(key);
  }

  /** The keys of all policies. */
  policyKeys() {
    return this.#policies.keys();
  }

  /** Words for the state of a policy, by which users search: reasons, and its outcome. */
  reasonsOf(policy) {
    const { outcome, conditions = [] } = this.#policies.get(policy) ?? {};
    return [...new Set([...conditions.map(({ reason }) => reason), ...(outcome ? [outcome] : [])])];
  }

  /**
   * What needs attention, as in `pbctl problems`: [{policy, outcome, reason, message, isWarning}], or `object`
   * in place of `policy`; `about` is another object, of a link. First policies whose controllers contradict the bridge; those that are
   * overridden, and warnings, come last.
   */
  troubled() {
    const found = [...this.#beside ?? []];
    for (const [policy, { differences, problems }] of this.#policies) {
      if (differences.length) found.push({ policy, outcome: "Differs", reason: "status mismatch", message: differences.join("; ") });
      found.push(...problems.map(problemOf(() => true)));
    }
    for (const node of this.#nodes.values()) found.push(...node.problems.map(problemOf(() => false)));
    const rank = ({ outcome, isWarning }) => (isWarning ? 3 : { Differs: 0, Overridden: 2 }[outcome] ?? 1);
    return found.sort((one, other) => rank(one) - rank(other));
  }

  /** Read the bridge's document of problems beside links and outcomes. */
  loadProblems(problems) {
    this.#beside = problems.map(problemOf((subject) => this.isPolicy(subject)));
  }

  /** The keys of the objects and policies that need attention. */
  troubledKeys() {
    return this.troubled().map(({ policy, object }) => policy ?? object);
  }

  /** The number of problems of each object and policy, without warnings. */
  problemCounts() {
    const found = new Map();
    for (const { policy, object, isWarning } of this.troubled()) {
      const key = parts(policy ?? object).object;
      if (!isWarning) found.set(key, (found.get(key) ?? 0) + 1);
    }
    return found;
  }

  /** The problems of an object or a policy, without links, and of policies whose status leaves the object out. */
  problemsOf(key) {
    return this.troubled().filter(({ policy, object, about, reason }) =>
      policy === key || (object === key && !about) || (about === key && reason === "AncestorNotReported"));
  }

  /** Whether the outcomes of what was loaded are not known yet: until then the list of problems changes. */
  get isComputing() {
    return this.revision !== "" && !this.hasOutcomes;
  }

  /** Whether everything is known: nodes, outcomes and problems. */
  get isKnown() {
    return this.isWhole && this.hasOutcomes && this.#beside !== undefined;
  }

  #read(key) {
    const { level, parents, leadsTo, parameters, hostnames, created, policies, refused, children } = this.#nodes.get(key);
    return {
      key,
      count: children, // below it, loaded or not
      level,
      parents,
      leadsTo,
      parameters,
      hostnames,
      created,
      refused,
      policies: policies.map((attached) => this.#withOutcome(attached)),
    };
  }

  #withOutcome(attached) {
    const { outcome, differences = [] } = this.#policies.get(attached.policy) ?? {};
    return { ...attached, outcome: outcome || undefined, differs: differences.length > 0, reasons: this.reasonsOf(attached.policy) };
  }

  #use(key, node) {
    for (const { policy } of node.policies) {
      const users = this.#users.get(policy);
      if (users) users.add(key);
      else this.#users.set(policy, new Set([key]));
    }
  }

  #unuse(key) {
    for (const { policy } of this.#nodes.get(key)?.policies ?? []) {
      const users = this.#users.get(policy);
      users?.delete(key);
      if (users?.size === 0) this.#users.delete(policy);
    }
  }
}

const OWN = ["Overridden", "NoScope", "Reconciling", "Incomplete"]; // outcomes that are problems themselves

/** Returns a function that converts a problem in the form of the query `problems`; `isPolicy` decides about its subject. */
const problemOf = (isPolicy) => ({ subject, about, reason, message, enforcementAction }) => ({
  [isPolicy(subject) ? "policy" : "object"]: subject,
  about: about === subject ? undefined : about,
  outcome: OWN.includes(reason) ? reason : "Refused",
  reason,
  message,
  isWarning: enforcementAction === "warn",
});
