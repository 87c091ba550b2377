// The topology of a bridge: a small one is here whole, of a large one the top, and what was asked for besides.

import { topology as ask } from "./api.js";
import { parts } from "./keys.js";

const WHOLE = 6_000; // nodes up to which all of them are asked for, once the top is drawn
const MOST = 50_000; // nodes that the bridge tells at once
const FOUND = 400; // nodes that a search asks for
const ENSURED = 12; // nodes that are looked for by name at once

export class Store {
  #topology;
  #wire;
  #refreshed;
  #completing;

  /** `refreshed()` is called when the topology is another. */
  constructor(topology, wire, refreshed) {
    this.#topology = topology;
    this.#wire = wire;
    this.#refreshed = refreshed;
  }

  /** Take everything anew; whether the bridge had all of it already. May raise ApiError. */
  async load() {
    // The top of a picture is there sooner than all of it; what was there whole is not taken away again.
    const had = this.#topology.nodes.size;
    const document = await ask(this.#wire.isWhole && had ? { limit: WHOLE } : {});
    clearTimeout(this.#completing);
    if (!document.whole && Object.keys(document.nodes).length < had) return false; // it is still being drawn there
    this.#take(document);
    if (document.whole && !this.#wire.isWhole && document.total <= WHOLE) {
      this.#completing = setTimeout(async () => this.#take(await ask({ limit: WHOLE })), 0);
    }
    return document.whole;
  }

  change(event) {
    const { upsert, gone } = this.#wire.change(event);
    this.#topology.apply(upsert, gone);
    this.#refreshed();
  }

  /** Ask for what stands below a node, if not all of it has been told. */
  async open(key) {
    if (this.#wire.isWhole || !this.#topology.isCut(key)) return;
    await this.#more({ below: key, limit: Math.min(MOST, Math.max(FOUND, this.#topology.nodes.get(key).count)) });
  }

  /** Ask for nodes that have not been told, with all above them. */
  async ensure(keys) {
    if (this.#wire.isWhole) return;
    const missing = [...keys].filter((key) => !this.#topology.has(key) && !this.#wire.isPolicy(key)).slice(0, ENSURED);
    await Promise.all(missing.map((key) => {
      const { type, namespace, name, section } = parts(key);
      return this.#more({ kind: type, name: section ? `${name}#${section}` : name, limit: 20, ...(namespace ? { namespace } : {}) });
    }));
  }

  /** Ask for what filters let through. */
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

  async #more(asked) {
    try {
      const { upsert, gone } = this.#wire.more(await ask(asked));
      this.#topology.apply(upsert, gone);
    } catch (error) {
      if (error.status === undefined) throw error; // of the others the connection tells
    }
  }
}
