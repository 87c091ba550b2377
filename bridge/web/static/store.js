// The topology of a bridge: its top first, which is there sooner, then all of it.

import { topology as ask } from "./api.js";

const TOP = 400; // nodes of the first picture

export class Store {
  #topology;
  #wire;
  #refreshed;
  #isDrawn = false; // whether the bridge had all of it when the top was loaded

  /** `refreshed()` is called when the topology has changed. */
  constructor(topology, wire, refreshed) {
    this.#topology = topology;
    this.#wire = wire;
    this.#refreshed = refreshed;
  }

  /** Load again. Returns {whole: whether the bridge had all of it, again: whether another load completes it}. Raises ApiError. */
  async load() {
    const all = this.#isDrawn || this.#topology.nodes.size > TOP;
    const { revision } = this.#wire;
    const document = await ask(all ? undefined : TOP);
    this.#isDrawn = document.whole;
    const loaded = Object.keys(document.nodes).length;
    // What was there whole stays while a restarted bridge draws.
    if (!document.whole && loaded < this.#topology.nodes.size) return { whole: false, again: false };
    const isDrawing = !document.whole && document.revision !== revision;
    this.#topology.load(this.#wire.load(document));
    this.#refreshed();
    return { whole: document.whole, again: isDrawing || (document.whole && !all && document.total > loaded) };
  }

  change(event) {
    const { upsert, gone } = this.#wire.change(event);
    this.#topology.apply(upsert, gone);
    if (["nodes", "gone", "policies", "gonePolicies"].some((part) => Object.keys(event[part]).length > 0)) this.#refreshed();
  }
}
