// The outcome of a policy as a sign, a word and a CSS class: never as a color alone. What misleads in part has no space that breaks.

const WORDS = {
  Programmed: { sign: "●", word: "active", tone: "programmed" },
  PartiallyProgrammed: { sign: "◐", word: "partly overridden", tone: "partly" },
  Overridden: { sign: "○", word: "overridden", tone: "overridden" },
  Refused: { sign: "✕", word: "not\u00a0accepted", tone: "refused" },
  Differs: { sign: "≠", word: "status\u00a0mismatch", tone: "refused" },
  NoScope: { sign: "·", word: "no\u00a0effect", tone: "idle" },
  Reconciling: { sign: "✕", word: "not\u00a0computed", tone: "refused" },
  Incomplete: { sign: "?", word: "not\u00a0certain", tone: "idle" },
  Unknown: { sign: "·", word: "", tone: "idle" }, // not loaded yet
};

/** The outcome of a policy of the topology: {sign, word, tone}. */
export function outcomeOf(attached) {
  if (attached.accepted === false) return { ...WORDS.Refused, word: attached.reason || WORDS.Refused.word };
  return WORDS[attached.outcome] ?? WORDS.Unknown;
}

/** The same for the name of an outcome in a query's result. */
export const outcomeNamed = (name) => WORDS[name] ?? WORDS.Unknown;

/** The outcomes by which users filter. */
export const OUTCOMES = ["Programmed", "PartiallyProgrammed", "Overridden", "Refused", "Differs", "NoScope", "Reconciling", "Incomplete"];
