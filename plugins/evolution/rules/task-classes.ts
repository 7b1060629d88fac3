import type { Features } from './features.ts';

/** A word of one kind of task. */
export interface ClassWord {
  /** Id of the class; stays the same while the class learns. */
  readonly taskClass: string;
  /** Its weight for the class, above 0: higher the rarer the word is. */
  readonly weight: number;
}

/** The kinds of task that an agent is given repeatedly, as the words that distinguish them. */
export type TaskClasses = ReadonlyMap<number, ClassWord>;

/** Nothing is learned. */
export const NO_CLASSES: TaskClasses = new Map();

/**
 * The class of a task: the one with the highest total weight of its words. Undefined where none of them belongs to a
 * class. Pure.
 */
export function classOf(classes: TaskClasses, features: Features): string | undefined {
  const votes = new Map<string, number>();
  for (const feature of features) {
    const word = classes.get(feature);
    if (word !== undefined) votes.set(word.taskClass, (votes.get(word.taskClass) ?? 0) + word.weight);
  }
  let best: string | undefined;
  let most = 0;
  for (const [taskClass, weight] of votes) {
    // Of equal weights the first by name, so that the order of words does not matter.
    if (weight > most || (weight === most && best !== undefined && taskClass < best))
      [best, most] = [taskClass, weight];
  }
  return best;
}
