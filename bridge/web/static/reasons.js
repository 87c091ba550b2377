// What reasons mean and what to do, from the bridge's page of reasons (docs/reference/reasons.md).

import { h } from "./dom.js";

const ROW = /^\| `(\w+)` \| (.+) \| (.+) \|$/gm;

/** @type {Map<string, {meaning: string, advice: string}>} */
const known = new Map();

/** Load the page; until then, and for a reason that it does not have, only the reason is shown. */
export async function loadReasons() {
  const response = await fetch("reasons.md");
  if (!response.ok) return;
  for (const [, name, meaning, advice] of (await response.text()).matchAll(ROW)) {
    known.set(name, { meaning: plain(meaning), advice: plain(advice) });
  }
}

/** A reason, which opens its explanation. */
export function reasonMark(name) {
  const found = known.get(name);
  if (!found) return h("strong", { class: "reason" }, name);
  return h("details", { class: "reason" }, h("summary", {}, name), h("span", {}, `${found.meaning} ${found.advice === "Nothing." ? "" : found.advice}`.trim()));
}

/** Markdown without its marks of code and links. */
const plain = (text) => text.replaceAll("`", "").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
