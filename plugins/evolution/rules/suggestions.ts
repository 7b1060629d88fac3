import { confidence, type Evidence, NO_EVIDENCE, potential } from './confidence.ts';

/** Advice to an agent about one of its tools, for one class of tasks. */
export interface Suggestion {
  /** `prefer`: the tool works. `try`: no tool is known to work, and this one may. `avoid`: it does not work. */
  readonly kind: 'prefer' | 'try' | 'avoid';
  /** Ref of the tool: `builtin/calculator`, `agent/helper`. */
  readonly component: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** What is known of a component in a class of tasks. */
export interface KnownComponent {
  readonly evidence: Evidence;
  /** Whether an operator, or the rule, keeps it out of advice. */
  readonly isHeld: boolean;
}

/** The number of suggestions, and the confidence that they need. */
export interface SuggestionBounds {
  readonly minConfidence: number;
  readonly max: number;
}

/** Where even the upper bound is below it, a component fails more often than not. */
const HOPELESS = 0.5;

/**
 * The advice to an agent for a task of a class: the tool that works best there, or, when none is known to work, the one
 * with the highest potential, as a fresh mutation in the place of a gene that has failed; and the tools to avoid. Where
 * none of the agent's own tools has potential, one that others claim to work may be tried. Names only tools that the
 * agent has. Pure.
 *
 * @param tools refs of the agent's tools
 * @param foreign knowledge that other deployments claim
 */
export function suggest(
  known: ReadonlyMap<string, KnownComponent>,
  tools: readonly string[],
  { minConfidence, max }: SuggestionBounds,
  foreign: ReadonlyMap<string, KnownComponent> = NOTHING,
): readonly Suggestion[] {
  const all = judged(known, tools)
    // Only tools that the agent itself has used for such a task: most of its tools are for other tasks.
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
  const advice: Suggestion[] = [];
  if (best !== undefined) advice.push({ kind: 'prefer', ...named(best) });
  if (hope !== undefined) advice.push({ kind: 'try', ...named(hope) });
  for (const one of sortedBy(failing, (each) => -each.potential))
    advice.push({ kind: 'avoid', ...named(one) });
  return advice.slice(0, max);
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

/**
 * Of the tools that the agent has never used for such a task: those that others claim to work, highest confidence
 * first.
 */
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
