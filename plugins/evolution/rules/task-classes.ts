import type { Features } from './features.ts';

/** A word of one kind of task. */
export interface ClassWord {
  /** Id of the class; stays the same while the class learns. */
  readonly taskClass: string;
  /** What it says for the class, above 0: more the rarer it is. */
  readonly weight: number;
}

/** The kinds of task that an agent is given again and again, as the words that tell them apart. */
export type TaskClasses = ReadonlyMap<number, ClassWord>;

/** Nothing is learned. */
export const NO_CLASSES: TaskClasses = new Map();

/** The class of a task: that for which its words say most. Undefined where none of them says anything. Pure. */
export function classOf(classes: TaskClasses, features: Features): string | undefined {
  const votes = new Map<string, number>();
  for (const feature of features) {
    const word = classes.get(feature);
    if (word !== undefined) votes.set(word.taskClass, (votes.get(word.taskClass) ?? 0) + word.weight);
  }
  let best: string | undefined;
  let most = 0;
  for (const [taskClass, weight] of votes) {
    // Of equals the first by name, so that the order of words does not matter.
    if (weight > most || (weight === most && best !== undefined && taskClass < best))
      [best, most] = [taskClass, weight];
  }
  return best;
}
