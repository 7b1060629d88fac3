import { createHash } from 'node:crypto';
import { UndirectedGraph } from 'graphology';
import louvainModule from 'graphology-communities-louvain';
import type { Features } from './features.ts';
import { type ClassWord, NO_CLASSES, type TaskClasses } from './task-classes.ts';

/** Its types describe an ES module, but it is a CommonJS module. */
const louvain = louvainModule as unknown as typeof louvainModule.default;

/** Classes of an agent at most: the most frequent ones. */
export const MAX_CLASSES = 24;
/**
 * How much more often than by chance two words have to occur together (normalized pointwise mutual information, -1 to
 * 1).
 */
const BOUND = 0.1;
/** A word that occurs in only one task is a name, or a mistake. */
const MIN_COUNT = 2;
/** Words that are used of one task, and of all: the most frequent ones. Both bound the time that long tasks take. */
const MAX_TASK_WORDS = 24;
const MAX_WORDS = 256;
/** The weight of a rare word at most, so that names do not outweigh the subject of a task. */
const MAX_WEIGHT = 1.5;

/**
 * Finds the kinds of task among the last tasks of an agent: words that occur together more often than by chance are of
 * one kind, and a task belongs to the kind of its words. The kinds need no names. A class keeps the id of the earlier
 * class that had most of its words. Pure, and the same on every replica.
 *
 * @param resolution below 1 there are fewer and larger classes: a kind of task is asked for in several ways, which have
 * few words in common
 */
export function findClasses(tasks: readonly Features[], before: TaskClasses, resolution = 0.4): TaskClasses {
  const counts = frequent(countsOf(tasks));
  const communities = communitiesOf(tasks, counts, resolution).map((words) => ({
    words,
    uses: words.reduce((sum, word) => sum + counts.get(word)!, 0),
  }));
  const kept = communities.sort((one, other) => other.uses - one.uses).slice(0, MAX_CLASSES);
  const weightOf = (word: number) => Math.min(MAX_WEIGHT, Math.log(1 + tasks.length / counts.get(word)!));
  const ids = idsOf(
    kept.map(({ words }) => words),
    before,
    weightOf,
  );
  const classes = new Map<number, ClassWord>();
  for (const [index, { words }] of kept.entries())
    for (const word of words) classes.set(word, { taskClass: ids[index]!, weight: weightOf(word) });
  return classes;
}

/** Tasks from which on those of an agent may be of one kind only. */
const ENOUGH = 8;
/** The share of tasks that have a word of that kind. */
const SHARED = 0.8;

/**
 * The one class of an agent whose tasks are all of one kind: the words that nearly all of them share. Words that occur
 * in every task do not distinguish it from another kind, so `findClasses` finds none. No class where tasks are few, or
 * share no word. Pure, and the same on every replica.
 */
export function onlyClass(tasks: readonly Features[], before: TaskClasses): TaskClasses {
  if (tasks.length < ENOUGH) return NO_CLASSES;
  const words = [...frequent(countsOf(tasks))]
    .filter(([, count]) => count >= tasks.length * SHARED)
    .map(([word]) => word)
    .sort((one, other) => one - other);
  if (words.length === 0) return NO_CLASSES;
  const [taskClass] = idsOf([words], before, () => 1);
  return new Map(words.map((word) => [word, { taskClass: taskClass!, weight: 1 }]));
}

/** The number of tasks in which each word occurs. */
function countsOf(tasks: readonly Features[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const features of tasks)
    for (const feature of features) counts.set(feature, (counts.get(feature) ?? 0) + 1);
  return counts;
}

/** The words that occur in more than one task: the most frequent ones, of equally frequent ones the smaller. */
function frequent(counts: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  const several = [...counts].filter(([, count]) => count >= MIN_COUNT);
  several.sort(([one, count], [other, otherCount]) => otherCount - count || one - other);
  return new Map(several.slice(0, MAX_WORDS));
}

/** The words that go together, in the order of their smallest word. */
function communitiesOf(
  tasks: readonly Features[],
  counts: ReadonlyMap<number, number>,
  resolution: number,
): readonly (readonly number[])[] {
  const graph = new UndirectedGraph<object, { weight: number }>();
  for (const [pair, together] of [...pairsOf(tasks, counts)].sort(([one], [other]) => one - other)) {
    if (together < MIN_COUNT) continue;
    const [one, other] = [Math.floor(pair / PAIR), pair % PAIR];
    const both = together / tasks.length;
    const chance = (counts.get(one)! / tasks.length) * (counts.get(other)! / tasks.length);
    const bound = both === 1 ? 0 : Math.log(both / chance) / -Math.log(both);
    if (bound > BOUND) graph.mergeEdge(`${one}`, `${other}`, { weight: bound * together });
  }
  if (graph.size === 0) return [];
  const community = louvain(graph, { resolution, randomWalk: false });
  const found = Map.groupBy(Object.keys(community), (word) => community[word]!);
  return [...found.values()].map((words) => words.map(Number).sort((one, other) => one - other));
}

/** Larger than any word, so that two words can be combined into one number. */
const PAIR = 2 ** 26;

/** The number of tasks in which both words of a pair occur, by the pair as one number, the smaller word first. */
function pairsOf(
  tasks: readonly Features[],
  counts: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>();
  for (const features of tasks) {
    const words = features
      .filter((word) => counts.has(word))
      .sort((one, other) => counts.get(other)! - counts.get(one)! || one - other)
      .slice(0, MAX_TASK_WORDS)
      .sort((one, other) => one - other);
    for (const [index, one] of words.entries())
      for (const other of words.slice(index + 1)) {
        const pair = one * PAIR + other;
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
  }
  return pairs;
}

/**
 * The ids of classes: each gets that of the earlier class with which it shares most words, unless it is taken; else an
 * id made of its words.
 */
function idsOf(
  classes: readonly (readonly number[])[],
  before: TaskClasses,
  weightOf: (word: number) => number,
): readonly string[] {
  const shared: { readonly index: number; readonly id: string; readonly weight: number }[] = [];
  for (const [index, words] of classes.entries()) {
    const weights = new Map<string, number>();
    for (const word of words) {
      const id = before.get(word)?.taskClass;
      if (id !== undefined) weights.set(id, (weights.get(id) ?? 0) + weightOf(word));
    }
    for (const [id, weight] of weights) shared.push({ index, id, weight });
  }
  shared.sort((one, other) => other.weight - one.weight || (one.id < other.id ? -1 : 1));
  const ids = new Map<number, string>();
  const taken = new Set<string>();
  for (const { index, id } of shared) {
    if (ids.has(index) || taken.has(id)) continue;
    ids.set(index, id);
    taken.add(id);
  }
  return classes.map((words, index) => ids.get(index) ?? newId(words, taken));
}

function newId(words: readonly number[], taken: Set<string>): string {
  for (let attempt = 0; ; attempt += 1) {
    const id = createHash('sha256').update(`${words.join()} ${attempt}`).digest('hex').slice(0, 12);
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}
