// The topology of a bridge: a small one is loaded whole, of a large one the top and the requested parts.

import { topology as ask } from "./api.js";
import { parts } from "./keys.js";

const WHOLE = 6_000; // nodes up to which all of them are loaded, once the top is drawn
const MOST = 50_000; // nodes that the bridge returns at once
const FOUND = 400; // nodes that a search loads
const ENSURED = 12; // nodes that are loaded by name at once

export class Store {
  #topology;
  #wire;
  #refreshed;
  #isTop = false; // whether only the top was loaded of what can be loaded whole

  /** `refreshed()` is called when the topology has changed. */
  constructor(topology, wire, refreshed) {
    this.#topology = topology;
    this.#wire = wire;
    this.#refreshed = refreshed;
  }

  /** Load everything again. Returns whether the bridge had all of it already. Raises ApiError. */
  async load() {
    // The top of a picture is there sooner than all of it; what was there whole is not removed again.
    const had = this.#topology.nodes.size;
    const all = had > 0 && (this.#wire.isWhole || this.#isTop);
    const document = await ask(all ? { limit: WHOLE } : {});
    if (!document.whole && Object.keys(document.nodes).length < had) return false; // the bridge still draws
    this.#take(document);
    this.#isTop = !all && document.whole && !this.#wire.isWhole && document.total <= WHOLE;
    return document.whole;
  }

  /** Whether another `load` completes what the last one loaded. */
  get isTop() {
    return this.#isTop;
  }

  change(event) {
    const { upsert, gone } = this.#wire.change(event);
    this.#topology.apply(upsert, gone);
    if (["nodes", "gone", "policies", "gonePolicies"].some((part) => Object.keys(event[part]).length > 0)) this.#refreshed();
  }

  /** Load the nodes below a node, if not all of them were loaded. */
  async open(key) {
    if (this.#wire.isWhole || !this.#topology.isCut(key)) return;
    await this.#more({ below: key, limit: Math.min(MOST, Math.max(FOUND, this.#topology.nodes.get(key).count)) });
  }

  /** Load nodes that were not loaded, with all above them. */
  async ensure(keys) {
    if (this.#wire.isWhole) return;
    const missing = [...keys].filter((key) => !this.#topology.has(key) && !this.#wire.isPolicy(key)).slice(0, ENSURED);
    await Promise.all(missing.map((key) => {
      const { type, namespace, name, section } = parts(key);
      return this.#more({ kind: type, name: section ? `${name}#${section}` : name, limit: 20, ...(namespace ? { namespace } : {}) });
    }));
  }

  /** Load nodes that match the filters. */
  async search({ namespaces, text, attachedOnly, hiddenPolicyKinds }) {
    const wanted = { limit: FOUND };
    if (namespaces.size) wanted.namespace = [...namespaces];
    if (text.trim()) wanted.name = text.trim();
    if (attachedOnly) wanted.policyKind = this.#wire.facets.policyKinds.filter((kind) => !hiddenPolicyKinds.has(kind));
    if (this.#wire.isWhole || Object.keys(wanted).length === 1) return;
    await this.#more(wanted);
    this.#refreshed();
  }

  #take(document) {
    this.#topology.load(this.#wire.load(document));
    this.#refreshed();
  }

  async #more(parameters) {
    try {
      const { upsert, gone } = this.#wire.more(await ask(parameters));
      this.#topology.apply(upsert, gone);
    } catch (error) {
      if (error.status === undefined) throw error; // the connection shows the others
    }
  }
}
