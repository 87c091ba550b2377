// What became of a policy, in a sign, a word and a class of CSS: never in a colour alone.

const WORDS = {
  Programmed: { sign: "●", word: "in force", tone: "programmed" },
  PartiallyProgrammed: { sign: "◐", word: "partly overridden", tone: "partly" },
  Overridden: { sign: "○", word: "overridden", tone: "overridden" },
  Refused: { sign: "✕", word: "not accepted", tone: "refused" },
  Differs: { sign: "≠", word: "reported otherwise", tone: "refused" },
  NoScope: { sign: "·", word: "reaches nothing", tone: "idle" },
  Unknown: { sign: "·", word: "", tone: "idle" }, // not told yet
};

/** Of a policy as the topology tells it: {sign, word, tone}. */
export function outcomeOf(attached) {
  if (attached.accepted === false) return { ...WORDS.Refused, word: attached.reason || WORDS.Refused.word };
  return WORDS[attached.outcome] ?? WORDS.Unknown;
}

/** Of an outcome's name, as queries give it. */
export const outcomeNamed = (name) => WORDS[name] ?? WORDS.Unknown;

export const LEGEND = [WORDS.Programmed, WORDS.PartiallyProgrammed, WORDS.Overridden, WORDS.Refused];
