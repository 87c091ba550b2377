// The text form of objects and their sections: <group>/<Kind>/<namespace>/<name>[#<section>], or …@frontend.

/** The level of the page's own nodes, one for each namespace with policies that are attached to nothing. */
export const NOTHING = "Nothing";

/** The key of the node for a policy that is attached to nothing. */
export const nothingIn = (policy) => `policybridge.io/${NOTHING}/${parts(policy).namespace || "-"}/attached`;

const parsed = new Map();

/** Forget the parts of a key of a deleted object: a page is open for days. Without a key, forget all. */
export const forget = (key) => void (key === undefined ? parsed.clear() : parsed.delete(key));

/** The parts of a key; a key is parsed once. */
export function parts(key) {
  let found = parsed.get(key);
  if (!found) {
    found = parse(key);
    parsed.set(key, found);
  }
  return found;
}

function parse(key) {
  const hash = key.indexOf("#");
  const whole = hash < 0 ? key : key.slice(0, hash);
  const [group, kind, namespace, ...rest] = whole.split("/");
  let name = rest.join("/");
  const role = name.endsWith("@frontend") ? "frontend" : "";
  if (role) name = name.slice(0, -"@frontend".length);
  return {
    key,
    type: `${group}/${kind}`,
    group,
    kind: kind ?? "",
    namespace: namespace === "-" || namespace === undefined ? "" : namespace,
    name,
    role,
    section: hash < 0 ? "" : key.slice(hash + 1),
    object: whole,
  };
}

/** `namespace/name`, or the name of an object without a namespace. */
export function place(key) {
  const { namespace, name, section, role } = parts(key);
  return `${namespace ? `${namespace}/` : ""}${name}${role ? ` (${role})` : ""}${section ? `#${section}` : ""}`;
}

/** The form of the commands: `HTTPRoute/shop/cart#checkout`. */
export const short = (key) => `${parts(key).kind}/${place(key)}`;

/** Whether a key is that of a link: itself, or its short form in any letter case, with or without a section. */
export const isNamed = (key, text) => key === text || short(key).toLowerCase() === text.toLowerCase();

/** `ColorPolicy` of `example.com/ColorPolicy`. */
export const kindName = (type) => type.slice(type.lastIndexOf("/") + 1);

const collator = new Intl.Collator("en", { numeric: true });

/** Natural order of names: rule 2 before rule 10. */
export const byName = (one, other) => collator.compare(one, other);
