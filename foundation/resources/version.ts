import { backoffDelay } from '../base/backoff.ts';
import { within } from '../base/deadline.ts';
import { GatewayError } from '../base/gateway-error.ts';
import type { Logger } from '../observability/logger.ts';
import type { SourceDocument } from './document.ts';
import { resourceId } from './header.ts';
import type { Resource, ResourceProblem } from './kind.ts';
import type { KindSlot } from './kind-slot.ts';
import type { Step } from './plan.ts';
import { reasonOf } from './problem.ts';
import type { ResourceTimes } from './resources.ts';

/** What a version is made of. */
interface VersionParts {
  /** `<kind>/<name>`. */
  readonly id: string;
  readonly slot: KindSlot;
  /** What it was built from. */
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly value: unknown;
  /** What it was built with; stays undisposed as long as this. */
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly life: VersionLife;
}

/** What versions share. */
export interface VersionLife {
  /** Milliseconds that holders of a replaced version get. */
  readonly drain: number;
  /** Milliseconds that a disposal may take. */
  readonly dispose: number;
  readonly log: Logger;
}

/**
 * One build of one resource. Lives as long as it is live itself, something live was built with it, or somebody holds a
 * lease; leases of what is neither live nor needed end with the drain time.
 */
export class Version {
  readonly id: string;
  readonly slot: KindSlot;
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly value: unknown;
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly #life: VersionLife;
  #pins = 0;
  #leases = 0;
  #drain: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(parts: VersionParts) {
    this.id = parts.id;
    this.slot = parts.slot;
    this.document = parts.document;
    this.resource = parts.resource;
    this.value = parts.value;
    this.dependencies = parts.dependencies;
    this.generation = parts.generation;
    this.#life = parts.life;
    for (const dependency of this.dependencies.values()) dependency.pin();
    this.slot.versions.add(this);
  }

  /** Keeps it, for as long as it is live or something is built with it. */
  pin(): void {
    this.#pins += 1;
    clearTimeout(this.#drain);
  }

  unpin(): void {
    this.#pins -= 1;
    this.#settle();
  }

  /** Keeps it for one user. The returned function gives it back, once. */
  lease(): () => void {
    this.#leases += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#leases -= 1;
      this.#settle();
    };
  }

  /** Ends it now, also while it is held. Resolves when it has ended; a second call waits for the first. */
  dispose(): Promise<void> {
    clearTimeout(this.#drain);
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #settle(): void {
    if (this.#ended !== undefined || this.#pins > 0) return;
    if (this.#leases === 0) return void this.dispose();
    clearTimeout(this.#drain);
    this.#drain = setTimeout(() => {
      const { log } = this.#life;
      log.warn(
        { resource: this.id, holders: this.#leases },
        'a replaced resource is still held; it ends now',
      );
      void this.dispose();
    }, this.#life.drain).unref();
  }

  async #end(): Promise<void> {
    // Not in this turn: it may be the one in which live resources are exchanged.
    await Promise.resolve();
    await this.#disposeValue();
    this.slot.versions.delete(this);
    for (const dependency of this.dependencies.values()) dependency.unpin();
  }

  async #disposeValue(): Promise<void> {
    const { definition } = this.slot;
    if (definition.dispose === undefined) return;
    try {
      const ending = (async () => definition.dispose?.(this.value))();
      await within(this.#life.dispose, `the disposal of ${this.id}`, ending);
    } catch (err) {
      this.#life.log.warn({ err, resource: this.id }, 'a replaced resource did not end');
    }
  }
}

/** What building needs beside the step. */
interface BuildParts {
  /** What it may resolve, by id. */
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  /** Milliseconds. */
  readonly timeout: number;
  /** Aborts when the gateway stops. */
  readonly signal: AbortSignal;
  readonly life: VersionLife;
}

/** Runs the kind's `build`. Rejects with what it throws, or when it takes too long; a value that comes later is disposed. */
export async function buildVersion(step: Step, parts: BuildParts): Promise<Version> {
  const { slot, resource, id, document } = step;
  const { dependencies, generation, timeout, life } = parts;
  const own = new AbortController();
  const signal = AbortSignal.any([own.signal, parts.signal]);
  const resolve = (kind: string, name: string) => {
    const wanted = resourceId(kind, name);
    if (!step.references.some((reference) => reference.id === wanted && !reference.lazy)) {
      throw new Error(`${id} resolves ${wanted}, which its kind's references() does not name`);
    }
    return dependencies.get(wanted)?.value;
  };
  const log = slot.log.child({ kind: resource.kind, resource: resource.metadata.name });
  const context = { resolve: resolve as never, signal, log };
  const toVersion = (value: unknown) =>
    new Version({ id, slot, document, resource, value, dependencies, generation, life });
  const work = (async () => slot.definition.build(resource, context))();
  try {
    return toVersion(await within(timeout, 'building it', work));
  } catch (failure) {
    own.abort(failure);
    // A late value is not used, and a late failure was reported as a timeout.
    work.then(
      (value) => void toVersion(value).dispose(),
      () => undefined,
    );
    throw failure;
  }
}

/** What a failed build has to say, at most `limit` problems. */
export function buildProblems(failure: unknown, limit: number): readonly ResourceProblem[] {
  const errors = failure instanceof GatewayError ? (failure.extras.errors ?? []) : [];
  if (errors.length > 0) {
    return errors.slice(0, limit).map(({ pointer, message }) => ({ pointer, message: reasonOf(message) }));
  }
  return [{ pointer: '', message: `could not be built: ${reasonOf(failure)}` }];
}

/** What is remembered of a build that failed. */
interface FailedBuildParts {
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
    this.#retryAt = now + backoffDelay(attempts, retry);
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
