import type { Clock } from '../base/clock.ts';
import { Semaphore } from '../base/semaphore.ts';
import type { SourceDocument } from './document.ts';
import type { ResourceProblem } from './kind.ts';
import type { CheckedReference, LiveEntry } from './kind-slot.ts';
import { missing, type Plan, type Refusal, type Step, strongReferences } from './plan.ts';
import type { ResourceLimits, ResourceTimes } from './resources.ts';
import { buildProblems, buildVersion, FailedBuild, type Version, type VersionLife } from './version.ts';

/** What a stage is made from. */
export interface StageInput {
  readonly plan: Plan;
  readonly previous: ReadonlyMap<string, LiveEntry>;
  readonly isSound: (version: Version) => boolean;
  /** Builds that failed in earlier stages. */
  readonly failed: ReadonlyMap<string, FailedBuild>;
  /** Builds again what failed with the same content before; otherwise only when its time has come. */
  readonly retryAll: boolean;
  readonly limits: ResourceLimits;
  readonly times: ResourceTimes;
  readonly clock: Clock;
  readonly signal: AbortSignal;
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

/** Builds what the plan says, each after what it needs, and keeps what did not change. Rejects for nothing that a kind does. */
export async function stage(input: StageInput): Promise<StageResult> {
  const run = new Run(input);
  await run.all();
  return run;
}

class Run implements StageResult {
  readonly next: Map<string, LiveEntry>;
  readonly built: Version[] = [];
  readonly refusals: Map<SourceDocument, Refusal>;
  readonly failed = new Map<string, FailedBuild>();
  readonly #input: StageInput;
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #builds: Semaphore;
  readonly #end: number;

  constructor(input: StageInput) {
    this.#input = input;
    this.next = new Map(input.plan.kept);
    this.refusals = new Map(input.plan.refusals);
    this.#builds = new Semaphore(input.limits.builds);
    this.#end = input.clock.monotonic() + input.times.reload;
  }

  async all(): Promise<void> {
    for (const step of this.#input.plan.steps) this.#tasks.set(step.id, this.#take(step));
    await Promise.all(this.#tasks.values());
  }

  async #take(step: Step): Promise<void> {
    const dependencies = new Map<string, Version>();
    for (const reference of strongReferences(step)) {
      await this.#tasks.get(reference.id);
      const target = this.next.get(reference.id);
      if (target !== undefined) dependencies.set(reference.id, target.version);
      else if (!reference.optional) return this.#refuse(step, ...this.#lacking(reference));
    }
    const { previous, failed, retryAll, clock } = this.#input;
    const old = previous.get(step.id)?.version;
    if (old !== undefined && isBuiltFrom(old, step, dependencies)) return this.#put(step, old);
    const before = failed.get(step.id);
    const isKnown = before?.isOf(step, dependencies) ?? false;
    if (isKnown && !retryAll && !before!.isDue(clock.monotonic())) {
      this.failed.set(step.id, before!);
      return this.#refuse(step, 'failed', before!.problems);
    }
    await this.#builds.run(() => this.#build(step, dependencies, isKnown ? before : undefined));
  }

  async #build(
    step: Step,
    dependencies: ReadonlyMap<string, Version>,
    before: FailedBuild | undefined,
  ): Promise<void> {
    const { times, limits, signal, life, clock, nextGeneration } = this.#input;
    try {
      if (clock.monotonic() >= this.#end) throw new Error('there was no time left in this reload');
      const timeout = times.build;
      const generation = nextGeneration();
      const version = await buildVersion(step, { dependencies, generation, timeout, signal, life });
      this.built.push(version);
      this.#put(step, version);
    } catch (failure) {
      const problems = buildProblems(failure, limits.problems);
      const attempts = (before?.attempts ?? 0) + 1;
      this.failed.set(
        step.id,
        new FailedBuild({
          step,
          dependencies,
          problems,
          attempts,
          now: clock.monotonic(),
          retry: times.retry,
        }),
      );
      this.#refuse(step, 'failed', problems);
    }
  }

  #put({ id, file, line }: Step, version: Version): void {
    this.next.set(id, { version, file, line });
  }

  /** The document does not become live; what was live before it stays, where what it needs still runs. */
  #refuse(step: Step, status: Refusal['status'], problems: readonly ResourceProblem[]): void {
    const { plan, previous, isSound } = this.#input;
    if (plan.declared.get(step.id) === step.document) {
      this.refusals.set(step.document, { status, problems: step.document.locate(problems) });
    }
    const old = previous.get(step.id)?.version;
    if (old !== undefined && isSound(old)) this.#put(step, old);
  }

  /** Why a reference leads to nothing. */
  #lacking(reference: CheckedReference): [Refusal['status'], readonly ResourceProblem[]] {
    const { pointer, kind, name, id } = reference;
    const document = this.#input.plan.declared.get(id);
    if (document === undefined) return ['failed', [{ pointer, message: missing(reference) }]];
    const refusal = this.refusals.get(document);
    if (refusal?.status === 'waiting') {
      return ['waiting', [{ pointer, message: `waits for the ${kind} ${name}, which waits itself` }]];
    }
    const at = `${document.file}:${document.line}`;
    return ['failed', [{ pointer, message: `names the ${kind} ${name}, which is not usable, see ${at}` }]];
  }
}

function isBuiltFrom(version: Version, step: Step, dependencies: ReadonlyMap<string, Version>): boolean {
  return (
    version.slot === step.slot &&
    version.document.hash === step.document.hash &&
    version.dependencies.size === dependencies.size &&
    [...dependencies].every(([id, dependency]) => version.dependencies.get(id) === dependency)
  );
}
