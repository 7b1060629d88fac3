import { confidence, type Evidence, NO_EVIDENCE, potential } from './confidence.ts';

/** Something that an agent can be told about one of its tools, for one class of tasks. */
export interface Suggestion {
  /** `prefer`: it works. `try`: nothing else is known to work, and this may. `avoid`: it does not. */
  readonly kind: 'prefer' | 'try' | 'avoid';
  /** Ref of the tool: `builtin/calculator`, `agent/helper`. */
  readonly component: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** What is known of a component in a class of tasks. */
export interface KnownComponent {
  readonly evidence: Evidence;
  /** An operator, or the rule, keeps it out of advice. */
  readonly isHeld: boolean;
}

/** How many suggestions of what confidence. */
export interface SuggestionBounds {
  readonly minConfidence: number;
  readonly max: number;
}

/** Below it even the upper bound says that something fails more often than not. */
const HOPELESS = 0.5;

/**
 * What to tell an agent about a task of a class: the tool that works best there, or, when none is known to, the one of which most can be hoped: a fresh
 * mutation in the place of a gene that has failed; and what to avoid. Where the agent has no hope of its own, what others claim may be tried. Names only
 * tools that the agent has. Pure.
 *
 * @param tools refs of the agent's tools
 * @param foreign what others claim
 */
export function suggest(
  known: ReadonlyMap<string, KnownComponent>,
  tools: readonly string[],
  { minConfidence, max }: SuggestionBounds,
  foreign: ReadonlyMap<string, KnownComponent> = NOTHING,
): readonly Suggestion[] {
  const all = judged(known, tools)
    // The agent itself has to use a tool for such a task before anybody speaks of it: most of its tools are for something else.
    .filter(({ uses }) => uses > 0);
  const [best] = sortedBy(
    all.filter((one) => one.confidence >= minConfidence),
    (one) => one.confidence,
  );
  const [hope] =
    best === undefined
      ? sortedBy(
          all.filter((one) => one.potential >= HOPELESS),
          (one) => one.potential,
        ).concat(claimed(known, tools, foreign))
      : [];
  const failing = all.filter((one) => one.potential < HOPELESS);
  const told: Suggestion[] = [];
  if (best !== undefined) told.push({ kind: 'prefer', ...named(best) });
  if (hope !== undefined) told.push({ kind: 'try', ...named(hope) });
  for (const one of sortedBy(failing, (each) => -each.potential)) told.push({ kind: 'avoid', ...named(one) });
  return told.slice(0, max);
}

const NOTHING: ReadonlyMap<string, KnownComponent> = new Map();

function judged(known: ReadonlyMap<string, KnownComponent>, tools: readonly string[]) {
  return tools
    .filter((component) => known.get(component)?.isHeld !== true)
    .map((component) => {
      const evidence = known.get(component)?.evidence ?? NO_EVIDENCE;
      const uses = evidence.wins + evidence.losses;
      return { component, uses, confidence: confidence(evidence), potential: potential(evidence) };
    });
}

/** Of the tools that the agent has never used for such a task: those that others praise, most praised first. */
function claimed(
  known: ReadonlyMap<string, KnownComponent>,
  tools: readonly string[],
  foreign: ReadonlyMap<string, KnownComponent>,
) {
  const unknown = tools.filter((component) => !known.has(component) && foreign.has(component));
  return sortedBy(
    judged(foreign, unknown).filter((one) => one.potential >= HOPELESS),
    (one) => one.confidence,
  );
}

function named({ component, confidence }: { readonly component: string; readonly confidence: number }) {
  return { component, confidence };
}

/** The largest first; of equals the first by name. */
function sortedBy<T extends { readonly component: string }>(
  items: readonly T[],
  value: (item: T) => number,
): readonly T[] {
  return items.toSorted(
    (one, other) => value(other) - value(one) || (one.component < other.component ? -1 : 1),
  );
}
