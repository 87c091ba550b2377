// What reasons mean and what to do (docs/reference/reasons.md).

import { reasons } from "./api.js";
import { h } from "./dom.js";

/** @type {Map<string, {about: string, meaning: string, fix: string}[]>} */
let known = new Map();

/** Load the explanations; without them, and for an unknown reason, only the reason is shown. */
export async function loadReasons() {
  try {
    known = new Map(Object.entries(await reasons()));
  } catch (error) {
    if (error.status === undefined) throw error; // the connection shows the others
  }
}

/** A reason, which opens its explanation. */
export function reasonMark(name) {
  const found = known.get(name);
  if (!found) return h("strong", { class: "reason" }, name);
  return h("details", { class: "reason" }, h("summary", {}, name),
    found.map(({ about, meaning, fix }) => h("span", {}, found.length > 1 && `${about}: `, plain(meaning), fix !== "Nothing." && ` ${plain(fix)}`)));
}

const plain = (text) => text.replaceAll("`", "");
