import type { ClassWord, TaskClasses } from '../rules/task-classes.ts';

/** Task classes as they are stored: by class its words, each with its weight. */
export type StoredClasses = Readonly<Record<string, readonly (readonly [number, number])[]>>;

/** The classes that are stored. */
export function classesOf(stored: StoredClasses): TaskClasses {
  const classes = new Map<number, ClassWord>();
  for (const [taskClass, words] of Object.entries(stored))
    for (const [word, weight] of words) classes.set(word, { taskClass, weight });
  return classes;
}

/** Classes in the form in which they are stored. */
export function toStored(classes: TaskClasses): StoredClasses {
  const stored: Record<string, [number, number][]> = {};
  for (const [word, { taskClass, weight }] of classes) {
    stored[taskClass] ??= [];
    stored[taskClass].push([word, Math.round(weight * 1000) / 1000]);
  }
  return stored;
}
