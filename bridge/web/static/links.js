// Names of objects and policies as buttons that choose them, and the marks beside them.

import { breakable, h } from "./dom.js";
import { shortKind } from "./kinds.js";
import { kindName, parts, place, short } from "./keys.js";

/** @type {(key: string) => void} */
let choose = () => {};

/** Register what is called when a name is clicked: `choose(key)`. */
export const onChoose = (listener) => {
  choose = listener;
};

/** A node or object. */
export const nodeLink = (key, text = short(key)) =>
  h("button", { class: "link", type: "button", title: key, "aria-label": text, on: { click: () => choose(key) } }, breakable(text));

/** A policy, with the mark of its kind unless that is in a heading. */
export const policyLink = (key, isMarked = true) => h("span", { class: "policy" }, isMarked && [chip(parts(key).type), " "], nodeLink(key, place(key)));

/** An object of which it is not known whether the picture has it: a node, a policy, or a name without a link. */
export const objectLink = (key, topology) =>
  topology.has(key) ? nodeLink(key) : topology.attachedTo(key).length ? policyLink(key) : short(key);

/** A link, from the object that declares it to the one that it names. */
export function linkPart({ owner, parent, child }) {
  const [from, to] = parts(parent).object === parts(owner).object ? [parent, child] : [child, parent];
  return [nodeLink(from), " → ", nodeLink(to)];
}

/** The mark of a policy kind: its short name. */
export const chip = (type) => h("span", { class: "chip", title: kindName(type), "aria-label": kindName(type), role: "img" }, shortKind(type));

/** A path from the root to a target. */
export const trail = (keys) =>
  h("ol", { class: "trail", "aria-label": "Path" }, keys.map((key, at) => h("li", {}, nodeLink(key, step(key, keys[at - 1])))));

function step(key, before) {
  const { section, object } = parts(key);
  return section && before && parts(before).object === object ? `#${section}` : short(key);
}
