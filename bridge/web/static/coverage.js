// Which effective targets have no policy of a kind in effect, or no value of a field: the filter "Without".

import { uncovered } from "./api.js";

export class Coverage {
  /** @type {Set<string> | null} */
  targets = null; // null: not known, or not asked for
  problem = "";
  #text = "";

  /**
   * Ask for the targets without `text` (`KIND[.spec.FIELD]`; empty: none), `again` because objects have changed. Returns
   * whether the answer is new.
   */
  async ask(text, again = false) {
    if (text === this.#text && !again) return false;
    if (!again) Object.assign(this, { targets: null, problem: "" });
    this.#text = text;
    if (!text) return false;
    const answer = await this.#answer(text);
    if (text !== this.#text) return false;
    Object.assign(this, answer);
    return true;
  }

  async #answer(text) {
    try {
      return { targets: new Set(await uncovered(text)), problem: "" };
    } catch (error) {
      if (error.status === undefined) throw error;
      return { targets: null, problem: error.message };
    }
  }
}
