import { type Evidence, expectedRate, NO_EVIDENCE } from './confidence.ts';
import { addTask, type TaskOutcome } from './evidence.ts';
import { findClasses, onlyClass } from './find-classes.ts';
import { classOf, type TaskClasses } from './task-classes.ts';

/** How coarse classes may be: below 1 there are fewer and larger ones. */
const RESOLUTIONS = [0.2, 0.4];

/**
 * The kinds of task among the last tasks of an agent. Words alone do not show how fine the kinds have to be: of a
 * coarse and a fine division, this takes the one that would have predicted the outcomes of these tasks best, each from
 * the tasks before it. Where both find nothing, the tasks may all be of one kind. Pure, and the same on every replica.
 */
export function chooseClasses(
  tasks: readonly TaskOutcome[],
  before: TaskClasses,
  discount: number,
): TaskClasses {
  const features = tasks.map((task) => task.features);
  const [first, ...others] = RESOLUTIONS.map((resolution) => findClasses(features, before, resolution));
  let best = first!;
  let most = foretold(tasks, best, discount);
  for (const classes of others) {
    const likelihood = foretold(tasks, classes, discount);
    if (likelihood > most) [best, most] = [classes, likelihood];
  }
  return best.size > 0 ? best : onlyClass(features, before);
}

/** The log-likelihood of all outcomes, each predicted from the evidence before it. */
function foretold(tasks: readonly TaskOutcome[], classes: TaskClasses, discount: number): number {
  const known = new Map<string, Map<string, Evidence>>();
  let likelihood = 0;
  for (const { features, components } of tasks) {
    const taskClass = classOf(classes, features) ?? '';
    const ofClass = known.get(taskClass) ?? new Map<string, Evidence>();
    known.set(taskClass, ofClass);
    for (const [component, isSuccess] of components) {
      const rate = expectedRate(ofClass.get(component) ?? NO_EVIDENCE);
      likelihood += Math.log(isSuccess ? rate : 1 - rate);
    }
    addTask(ofClass, components, discount);
  }
  return likelihood;
}
