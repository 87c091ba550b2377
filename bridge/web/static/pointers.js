// JSON Pointers (RFC 6901) of fields as people write them, and values as text.

/** `colors.accent`, `rules[0].name`, `labels["a.b/c"]`; `(all)` for the whole. */
export function nameOf(pointer) {
  if (pointer === "") return "(all)";
  let name = "";
  for (const part of pointer.slice(1).split("/").map(unescape)) {
    if (/^(\d+|\*)$/.test(part)) name += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) name += name ? `.${part}` : part;
    else name += `[${JSON.stringify(part)}]`;
  }
  return name;
}

const unescape = (name) => name.replaceAll("~1", "/").replaceAll("~0", "~");

export const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
