import type { ResourceProblem } from './kind.ts';
import type { KindSlot } from './kind-slot.ts';
import type { ResourceTimes } from './limits.ts';
import type { Step } from './plan.ts';
import type { Version } from './version.ts';

/** What is remembered of a build that failed. */
export interface FailedBuildParts {
  readonly step: Step;
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly problems: readonly ResourceProblem[];
  /** Builds of the same content that failed, this one included. */
  readonly attempts: number;
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly retry: ResourceTimes['retry'];
}

/** A build that failed: with the same content and dependencies it is not tried at every reload, but after growing pauses. */
export class FailedBuild {
  readonly problems: readonly ResourceProblem[];
  readonly attempts: number;
  readonly #slot: KindSlot;
  readonly #hash: string;
  readonly #generations: string;
  readonly #retryAt: number;

  constructor({ step, dependencies, problems, attempts, now, retry }: FailedBuildParts) {
    this.problems = problems;
    this.attempts = attempts;
    this.#slot = step.slot;
    this.#hash = step.document.hash;
    this.#generations = generationsOf(dependencies);
    this.#retryAt = now + Math.min(retry.first * 2 ** Math.min(attempts - 1, 20), retry.most);
  }

  /** Would a build of this step be the same again? */
  isOf(step: Step, dependencies: ReadonlyMap<string, Version>): boolean {
    return (
      this.#slot === step.slot &&
      this.#hash === step.document.hash &&
      this.#generations === generationsOf(dependencies)
    );
  }

  /** @param now monotonic milliseconds */
  isDue(now: number): boolean {
    return now >= this.#retryAt;
  }
}

function generationsOf(dependencies: ReadonlyMap<string, Version>): string {
  return [...dependencies.values()].map(({ generation }) => generation).join();
}
