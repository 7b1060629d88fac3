import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { Semaphore } from '../base/semaphore.ts';
import type { SourceDocument } from './document.ts';
import type { ResourceProblem } from './kind.ts';
import type { CheckedReference } from './kind-slot.ts';
import { missing, type Plan, type Refusal, strongReferences } from './plan.ts';
import type { ResourceLimits } from './resources.ts';
import {
  buildProblems,
  buildVersion,
  type FailedBuild,
  type LiveEntry,
  type Step,
  type Version,
  type VersionLife,
} from './version.ts';

/** What a stage is made from. */
interface StageInput {
  readonly plan: Plan;
  readonly previous: ReadonlyMap<string, LiveEntry>;
  readonly isSound: (version: Version) => boolean;
  /** Builds that failed in earlier stages. */
  readonly failed: ReadonlyMap<string, FailedBuild>;
  /** Builds again what failed with the same content before; otherwise only when its time has come. */
  readonly retryAll: boolean;
  readonly limits: ResourceLimits;
  readonly clock: Clock;
  readonly life: VersionLife;
  /** The number of the next build. */
  nextGeneration(): number;
}

/** What came out of a stage: nothing of it is visible yet. */
export interface StageResult {
  /** What should be live, by id. */
  readonly next: ReadonlyMap<string, LiveEntry>;
  /** What was built for it. */
  readonly built: readonly Version[];
  /** The documents that are not live in `next`. */
  readonly refusals: ReadonlyMap<SourceDocument, Refusal>;
  readonly failed: ReadonlyMap<string, FailedBuild>;
}

/**
 * Builds what the plan says, each after what it needs, and keeps what did not change. Rejects for nothing that a kind
 * does.
 */
export async function stage(input: StageInput): Promise<StageResult> {
  const { plan, previous, isSound, failed, retryAll, limits, clock, life, nextGeneration } = input;
  const next = new Map(plan.kept);
  const built: Version[] = [];
  const refusals = new Map(plan.refusals);
  const stillFailed = new Map<string, FailedBuild>();
  const tasks = new Map<string, Promise<void>>();
  const builds = new Semaphore(limits.builds);
  const end = clock.monotonic() + life.times.reload;

  async function take(step: Step): Promise<void> {
    const dependencies = new Map<string, Version>();
    for (const reference of strongReferences(step)) {
      await tasks.get(reference.id);
      const target = next.get(reference.id);
      if (target !== undefined) dependencies.set(reference.id, target.version);
      else if (!reference.optional) return refuse(step, ...lacking(reference));
    }
    const old = previous.get(step.id)?.version;
    if (old !== undefined && isBuiltFrom(old, step, dependencies)) return put(step, old);
    const last = failed.get(step.id);
    const before = last !== undefined && isSameBuild(last, step, dependencies) ? last : undefined;
    if (before !== undefined && !retryAll && clock.monotonic() < before.retryAt) {
      stillFailed.set(step.id, before);
      return refuse(step, 'failed', before.problems);
    }
    await builds.run(() => build(step, dependencies, before));
  }

  async function build(
    step: Step,
    dependencies: ReadonlyMap<string, Version>,
    before: FailedBuild | undefined,
  ): Promise<void> {
    try {
      if (clock.monotonic() >= end) throw new Error('there was no time left in this reload');
      const version = await buildVersion(step, { dependencies, generation: nextGeneration(), life });
      built.push(version);
      put(step, version);
    } catch (failure) {
      const problems = buildProblems(failure, limits.problems);
      const attempts = (before?.attempts ?? 0) + 1;
      const retryAt = clock.monotonic() + backoffDelay(attempts, life.times.retry);
      const { slot, document } = step;
      const made = { slot, hash: document.hash, generations: generationsOf(dependencies) };
      stillFailed.set(step.id, { ...made, problems, attempts, retryAt });
      refuse(step, 'failed', problems);
    }
  }

  function put({ id, file, line }: Step, version: Version): void {
    next.set(id, { version, file, line });
  }

  /** The document does not become live; what was live before it stays, where what it needs still runs. */
  function refuse(step: Step, status: Refusal['status'], problems: readonly ResourceProblem[]): void {
    if (plan.declared.get(step.id) === step.document) {
      refusals.set(step.document, { status, problems: step.document.locate(problems) });
    }
    const old = previous.get(step.id)?.version;
    if (old !== undefined && isSound(old)) put(step, old);
  }

  /** Why a reference leads to nothing. */
  function lacking(reference: CheckedReference): [Refusal['status'], readonly ResourceProblem[]] {
    const { pointer, kind, name, id } = reference;
    const document = plan.declared.get(id);
    if (document === undefined) return ['failed', [{ pointer, message: missing(reference) }]];
    if (refusals.get(document)?.status === 'waiting') {
      return ['waiting', [{ pointer, message: `waits for the ${kind} ${name}, which waits itself` }]];
    }
    const at = `${document.file}:${document.line}`;
    return ['failed', [{ pointer, message: `names the ${kind} ${name}, which is not usable, see ${at}` }]];
  }

  for (const step of plan.steps) tasks.set(step.id, take(step));
  await Promise.all(tasks.values());
  return { next, built, refusals, failed: stillFailed };
}

function isBuiltFrom(version: Version, step: Step, dependencies: ReadonlyMap<string, Version>): boolean {
  return (
    version.step.slot === step.slot &&
    version.step.document.hash === step.document.hash &&
    version.dependencies.size === dependencies.size &&
    [...dependencies].every(([id, dependency]) => version.dependencies.get(id) === dependency)
  );
}

function isSameBuild(
  { slot, hash, generations }: FailedBuild,
  step: Step,
  dependencies: ReadonlyMap<string, Version>,
): boolean {
  return slot === step.slot && hash === step.document.hash && generations === generationsOf(dependencies);
}

function generationsOf(dependencies: ReadonlyMap<string, Version>): string {
  return [...dependencies.values()].map(({ generation }) => generation).join();
}
