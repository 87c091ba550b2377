// The short names of policy kinds, by which the page marks policies.

import { kindName } from "./keys.js";

const SUFFIX = "Policy";

/** `Color` of `example.com/ColorPolicy`; a kind that has no other name keeps it. */
export function shortKind(type) {
  const kind = kindName(type);
  return kind.endsWith(SUFFIX) && kind !== SUFFIX ? kind.slice(0, -SUFFIX.length) : kind;
}
