// Deep links: the choice and the filters are in the fragment of the address.

const SETS = { namespaces: "namespaces", hiddenKinds: "hide", hiddenPolicyKinds: "hide-policies", outcomes: "outcomes", violations: "violations" };

const VIEWS = ["list", "picture"];
const TABS = ["details", "request", "changes"];

/** Read the state from the address. `chosen` may be short, `HTTPRoute/shop/cart`, with a `section` of it. */
export function readHash() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const sets = Object.entries(SETS).map(([filter, name]) => [filter, new Set((parameters.get(name) ?? "").split(",").filter(Boolean))]);
  return {
    chosen: parameters.get("object") ?? undefined,
    section: parameters.get("section") ?? undefined,
    tab: TABS.find((tab) => tab === parameters.get("tab")),
    view: VIEWS.find((view) => view === parameters.get("view")),
    sort: /^-?(namespace|kind|name|outcome|problems|age)$/.exec(parameters.get("sort") ?? "")?.[0] ?? "namespace",
    request: Object.fromEntries([...parameters].filter(([name]) => name.startsWith("r.")).map(([name, value]) => [name.slice(2), value])),
    filters: {
      ...Object.fromEntries(sets),
      problems: parameters.get("problems") === "only",
      without: parameters.get("without") ?? "",
      focus: parameters.get("focus") ?? undefined,
      text: parameters.get("find") ?? "",
    },
  };
}

/** Write the state. A new choice is a step in the browser's history, a filter is not. */
export function writeHash({ chosen, tab, view, sort, request, filters }, isStep) {
  const parameters = new URLSearchParams();
  const put = (name, value) => value && parameters.set(name, value);
  put("object", chosen);
  put("tab", tab === "details" ? undefined : tab);
  put("view", view);
  put("sort", sort === "namespace" ? undefined : sort);
  for (const [name, value] of Object.entries(request)) put(`r.${name}`, value);
  for (const [filter, name] of Object.entries(SETS)) put(name, [...filters[filter]].join(","));
  put("problems", filters.problems && "only");
  put("without", filters.without);
  put("focus", filters.focus);
  put("find", filters.text.trim());
  const hash = parameters.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  const now = hash ? `#${hash}` : location.pathname;
  if (`#${hash}` === location.hash || (!hash && !location.hash)) return;
  if (isStep) history.pushState(null, "", now);
  else history.replaceState(null, "", now);
}
