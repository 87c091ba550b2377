// The leaves of a document by JSON Pointer (RFC 6901), with readable names.

/** [{name, value (a text), removed, origin}] of a spec with its origins, in the order of the spec. */
export function fields(spec, origins = {}) {
  const found = [];
  const known = new Set();
  const walk = (value, pointer) => {
    const origin = origins[pointer];
    const inner = value !== null && typeof value === "object" && Object.keys(value).length > 0;
    if (!inner || origin !== undefined) {
      known.add(pointer);
      found.push({ name: nameOf(pointer), value: text(value), removed: false, origin });
      return;
    }
    for (const [name, part] of Object.entries(value)) walk(part, `${pointer}/${escape(name)}`);
  };
  if (spec !== undefined && spec !== null && !(typeof spec === "object" && !Object.keys(spec).length)) walk(spec, "");
  for (const [pointer, origin] of Object.entries(origins)) {
    if (!known.has(pointer)) found.push({ name: nameOf(pointer), value: "", removed: true, origin });
  }
  return found;
}

/** `colors.accent`, `rules[0].name`, `labels["a.b/c"]`; `(all)` for the whole. */
export function nameOf(pointer) {
  if (pointer === "") return "(all)";
  let name = "";
  for (const part of pointer.slice(1).split("/").map(unescape)) {
    if (/^\d+$/.test(part)) name += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) name += name ? `.${part}` : part;
    else name += `[${JSON.stringify(part)}]`;
  }
  return name;
}

const escape = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");
const unescape = (name) => name.replaceAll("~1", "/").replaceAll("~0", "~");

export const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
