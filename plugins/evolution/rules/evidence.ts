import { afterOther, afterUse, DISCOUNT, type Evidence, NO_EVIDENCE } from './confidence.ts';
import type { Features } from './features.ts';
import { classOf, type TaskClasses } from './task-classes.ts';

/** The outcome of one task of an agent. */
export interface TaskOutcome {
  readonly features: Features;
  /** The class that the caller or the agent's definition named; absent: found by the words of the task. */
  readonly taskClass?: string | undefined;
  /** By component (`builtin/calculator`, `agent/helper`): whether its last use in the task succeeded. */
  readonly components: ReadonlyMap<string, boolean>;
}

/** The evidence of what was used in a class of tasks, by component. */
export type ClassEvidence = ReadonlyMap<string, Evidence>;

/**
 * The evidence by class, of the last tasks of an agent, oldest first. It is recounted from them each time, so that
 * nothing is counted twice, and classes that split or merge keep theirs. A task without a class counts for none. Pure.
 */
export function evidenceOf(
  tasks: readonly TaskOutcome[],
  classes: TaskClasses,
  discount = DISCOUNT,
): ReadonlyMap<string, ClassEvidence> {
  const found = new Map<string, Map<string, Evidence>>();
  for (const { features, taskClass = classOf(classes, features), components } of tasks) {
    if (taskClass === undefined || components.size === 0) continue;
    const ofClass = found.get(taskClass) ?? new Map<string, Evidence>();
    found.set(taskClass, ofClass);
    addTask(ofClass, components, discount);
  }
  return found;
}

/** Adds the outcome of a task to the evidence of its class. */
export function addTask(
  ofClass: Map<string, Evidence>,
  components: TaskOutcome['components'],
  discount: number,
): void {
  for (const [component, evidence] of ofClass)
    if (!components.has(component)) ofClass.set(component, afterOther(evidence));
  for (const [component, isSuccess] of components)
    ofClass.set(component, afterUse(ofClass.get(component) ?? NO_EVIDENCE, isSuccess, discount));
}
