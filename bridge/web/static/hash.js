// Deep links: the choice and the filters are in the fragment of the address.

/** Read the state from the address. */
export function readHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const list = (name) => new Set((asked.get(name) ?? "").split(",").filter(Boolean));
  return {
    chosen: asked.get("object") ?? undefined,
    tab: asked.get("tab") ?? undefined,
    request: Object.fromEntries([...asked].filter(([name]) => name.startsWith("r.")).map(([name, value]) => [name.slice(2), value])),
    namespaces: list("namespaces"),
    hiddenKinds: list("hide"),
    hiddenPolicyKinds: list("hide-policies"),
    attachedOnly: asked.get("attached") === "1",
    text: asked.get("find") ?? "",
  };
}

/** Write the state. A new choice is a step in the browser's history, a filter is not. */
export function writeHash({ chosen, tab, request, filters }, isStep) {
  const asked = new URLSearchParams();
  const put = (name, value) => value && asked.set(name, value);
  put("object", chosen);
  put("tab", tab === "details" ? undefined : tab);
  for (const [name, value] of Object.entries(request)) put(`r.${name}`, value);
  put("namespaces", [...filters.namespaces].join(","));
  put("hide", [...filters.hiddenKinds].join(","));
  put("hide-policies", [...filters.hiddenPolicyKinds].join(","));
  put("attached", filters.attachedOnly ? "1" : undefined);
  put("find", filters.text.trim());
  const hash = asked.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  const now = hash ? `#${hash}` : location.pathname;
  if (`#${hash}` === location.hash || (!hash && !location.hash)) return;
  if (isStep) history.pushState(null, "", now);
  else history.replaceState(null, "", now);
}
