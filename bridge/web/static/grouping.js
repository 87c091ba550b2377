// Many siblings as few entries: by kind, then by namespace, then by ranges of names. A group opens into smaller groups.

import { byName, parts } from "./keys.js";
import { shownKind } from "./topology.js";

/**
 * Entries for keys below `id`: at most about `fan`. An entry is {id, key} or {id, group: {title, keys, namespace}}.
 * Each key of `apart` is always an entry of its own.
 */
export function entries(topology, id, keys, fan, apart) {
  const alone = [];
  const others = [];
  for (const key of keys) (apart.has(key) ? alone : others).push(key);
  if (others.length <= fan) return keys.map(single);
  return [...alone.map(single), ...grouped(topology, id, others, fan)];
}

const single = (key) => ({ id: key, key });

function grouped(topology, id, keys, fan) {
  const kinds = partition(keys, (key) => shownKind(topology.nodes.get(key)));
  if (kinds.size > 1) return [...kinds].flatMap(([kind, members]) => part(id, kind, kind, members, fan));
  const [kind] = kinds.keys();
  const namespaces = partition(keys, (key) => parts(key).namespace);
  if (namespaces.size > 1 && namespaces.size <= fan) {
    return [...namespaces].flatMap(([namespace, members]) => part(id, namespace, kind, members, 4, namespace));
  }
  return ranges(id, kind, keys, fan);
}

function part(id, name, title, members, fan, namespace = "") {
  if (members.length <= Math.min(fan, 4)) return members.map(single);
  return [{ id: `${id}|${name}`, group: { title, keys: members, namespace } }];
}

/** Pieces of the sorted names, of a power of `fan` each: so a range opens into ranges, and at last into nodes. */
function ranges(id, title, keys, fan) {
  const sorted = [...keys].sort((one, other) => byName(rangeName(one), rangeName(other)));
  let size = fan;
  while (sorted.length / size > fan) size *= fan;
  const found = [];
  for (let at = 0; at < sorted.length; at += size) {
    const members = sorted.slice(at, at + size);
    const [first, last] = [rangeName(members[0]), rangeName(members.at(-1))];
    found.push({ id: `${id}|~${at / size}`, group: { title, keys: members, range: `${first} … ${last}`, namespace: "" } });
  }
  return found;
}

function rangeName(key) {
  const { namespace, name, section } = parts(key);
  return `${namespace}/${name}${section ? `#${section}` : ""}`;
}

function partition(keys, by) {
  const found = new Map();
  for (const key of keys) {
    const name = by(key);
    if (found.has(name)) found.get(name).push(key);
    else found.set(name, [key]);
  }
  return new Map([...found].sort(([one], [other]) => byName(one, other)));
}
