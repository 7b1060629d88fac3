import { nearestName } from 'agent-gateway';
import type { GraphProblem } from '../../contract/graph.ts';
import { GRAPH_LIMITS, type GraphRule, graphCode } from './graph-schema.ts';

/** Where a problem is. */
export interface ProblemPlace {
  readonly pointer: string;
  readonly node?: string | undefined;
  readonly edge?: number | undefined;
}

export type GraphProblems = ReturnType<typeof createProblems>;

/** Collects what is wrong with a graph, `GRAPH_LIMITS.problems` at most. */
export function createProblems() {
  const problems: GraphProblem[] = [];
  let isFull = false;

  /** With any code: a node type may have codes of its own. */
  function addCoded(code: string, message: string, { pointer, node, edge }: ProblemPlace): void {
    if (problems.length === GRAPH_LIMITS.problems) {
      isFull = true;
      return;
    }
    problems.push({
      code,
      message,
      pointer,
      ...(node === undefined ? {} : { node }),
      ...(edge === undefined ? {} : { edge }),
    });
  }

  return {
    add: (rule: GraphRule, message: string, place: ProblemPlace) => addCoded(graphCode(rule), message, place),
    addCoded,
    /** In the order in which they were found. */
    list: (): readonly GraphProblem[] => (isFull ? [...problems, MORE] : problems),
  };
}

const MORE: GraphProblem = {
  code: graphCode('more-problems'),
  message: `There are more problems. Put these ${GRAPH_LIMITS.problems} right first.`,
  pointer: '',
};

/** Characters of a name that are shown, and names of a list. */
const MAX_SHOWN = 80;
const MAX_LISTED = 20;

/** A name from a graph as a message shows it: in quotation marks, on one line, and not longer than 80 characters. */
export function quote(name: string): string {
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
  return JSON.stringify(shown.toWellFormed());
}

/** Names as a message lists them: `"a", "b" and 3 more`. */
export function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map(quote).join(', ');
  return names.length > MAX_LISTED ? `${shown} and ${names.length - MAX_LISTED} more` : shown;
}

/** What a value is, for messages that must not show it. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a string' : `a ${typeof value}`;
}

/**
 * Searches in one check: beyond them nothing is suggested, since a graph may have thousands of names that are wrong.
 */
const MAX_SEARCHES = 50;

/** Returns ` Did you mean "…"?` with the known name that the author probably meant, or an empty text. */
export type Suggest = (wrong: string, known: readonly string[]) => string;

/** Makes a `Suggest` for one check, whose work is bounded. */
export function createSuggest(): Suggest {
  let left = MAX_SEARCHES;
  return (wrong, known) => {
    if (left === 0) return '';
    left -= 1;
    const meant = nearestName(wrong, known);
    return meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
  };
}
