/*
 * What a word or phrase means to the input check, whatever its language. A hit carries a set of them, as bits. The
 * lexicons name them by key.
 */

/** The meanings, each one bit. `…Last` are verbs of languages (or forms) that stand behind their object. */
export const Concept = {
  /** ignore, disregard, bypass. */
  override: 1 << 0,
  overrideLast: 1 << 1,
  /** previous, above, original. */
  prior: 1 << 2,
  /** instructions, rules, guidelines, restrictions. */
  rules: 1 << 3,
  /** What only the model can see: "system prompt", "hidden instructions". */
  prompt: 1 << 4,
  /** "everything above", "the text before this". */
  aboveText: 1 << 5,
  /** your, that you were given. */
  your: 1 << 6,
  /** my, what I said: users speak of their own words. */
  my: 1 << 7,
  all: 1 << 8,
  /** show, print, repeat, "what is". */
  reveal: 1 << 9,
  revealLast: 1 << 10,
  /** word for word, in a code block. */
  verbatim: 1 << 11,
  /** "you are now", "act as", "pretend". */
  role: 1 << 12,
  /** "without restrictions", "DAN", "developer mode". */
  unbound: 1 << 13,
  /** ethics, safety, content policy, censorship. */
  ethics: 1 << 14,
  not: 1 << 15,
  /** follow, obey, execute. */
  follow: 1 << 16,
  /** "new instructions", "your real task". */
  fresh: 1 << 17,
  send: 1 << 18,
  /** conversation, API key, password, files of the user. */
  private: 1 << 19,
  /** A URL or a mail address. */
  destination: 1 << 20,
  /** The AI that reads a page, addressed by it: "if you are an AI". */
  reader: 1 << 21,
  /** "do not tell the user". */
  hide: 1 << 22,
  /** Talking about attacks rather than attacking: "phrases like", "how do I defend". */
  mention: 1 << 23,
  /** "call the tool", "run the command". */
  call: 1 << 24,
  /** decode, decipher. */
  decode: 1 << 25,
  /** A core word under ROT13. */
  rot13: 1 << 26,
  /** A core word backwards. */
  reversed: 1 << 27,
  /** Rules that not only an AI has: policy, order, filter. Alone they say less than `rules`. */
  policy: 1 << 28,
  /** The user, spoken about: "the user's". */
  user: 1 << 29,
} as const;

/** The name of a meaning. */
export type ConceptName = keyof typeof Concept;

/**
 * The words of one language: per meaning a comma-separated list. A trailing `*` takes every ending ("instruc*"). Longer
 * phrases win over the words in them, so `harmless` phrases ("don't forget") disarm what they contain.
 */
export type Lexicon = Readonly<Partial<Record<ConceptName | 'harmless', string>>>;
