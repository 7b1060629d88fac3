import { within } from '../base/deadline.ts';
import { GatewayError } from '../base/gateway-error.ts';
import type { Logger } from '../observability/logger.ts';
import type { SourceDocument } from './document.ts';
import { resourceId } from './header.ts';
import type { Resource, ResourceProblem } from './kind.ts';
import type { CheckedReference, KindSlot } from './kind-slot.ts';
import { reasonOf } from './problem.ts';
import type { ResourceTimes } from './resources.ts';

/** A resource that should be live. */
export interface Step {
  readonly id: string;
  readonly slot: KindSlot;
  readonly document: SourceDocument;
  readonly resource: Resource;
  readonly references: readonly CheckedReference[];
  readonly file: string;
  readonly line: number;
}

/** What versions share. */
export interface VersionLife {
  readonly times: ResourceTimes;
  readonly log: Logger;
  /** Aborts when the gateway stops. */
  readonly signal: AbortSignal;
}

/**
 * One build of one resource. Lives as long as it is live itself, something live was built with it, or a caller holds a
 * lease; leases of what is neither live nor needed end with the drain time.
 */
export class Version {
  readonly step: Step;
  readonly value: unknown;
  /** What it was built with, by id; stays undisposed as long as this. */
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly #life: VersionLife;
  #pins = 0;
  #leases = 0;
  #drain: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(step: Step, value: unknown, { dependencies, generation, life }: BuildParts) {
    this.step = step;
    this.value = value;
    this.dependencies = dependencies;
    this.generation = generation;
    this.#life = life;
    for (const dependency of dependencies.values()) dependency.pin();
    step.slot.versions.add(this);
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
    const { times, log } = this.#life;
    this.#drain = setTimeout(() => {
      const about = { resource: this.step.id, holders: this.#leases };
      log.warn(about, 'a replaced resource is still held; it ends now');
      void this.dispose();
    }, times.drain).unref();
  }

  async #end(): Promise<void> {
    // Not in this turn: it may be the one in which live resources are exchanged.
    await Promise.resolve();
    await this.#disposeValue();
    this.step.slot.versions.delete(this);
    for (const dependency of this.dependencies.values()) dependency.unpin();
  }

  async #disposeValue(): Promise<void> {
    const { id, slot } = this.step;
    const { times, log } = this.#life;
    try {
      const ending = (async () => slot.definition.dispose?.(this.value))();
      await within(times.build, `the disposal of ${id}`, ending);
    } catch (err) {
      log.warn({ err, resource: id }, 'a replaced resource did not end');
    }
  }
}

/** A version that is live, with the file that declares it. */
export interface LiveEntry {
  readonly version: Version;
  readonly file: string;
  readonly line: number;
}

/** What building needs in addition to the step. */
interface BuildParts {
  /** What it may resolve, by id. */
  readonly dependencies: ReadonlyMap<string, Version>;
  readonly generation: number;
  readonly life: VersionLife;
}

/**
 * Runs the kind's `build`. Rejects with what it throws, or when it takes too long; a value that comes later is
 * disposed.
 */
export async function buildVersion(step: Step, parts: BuildParts): Promise<Version> {
  const { slot, resource, id } = step;
  const { dependencies, life } = parts;
  const own = new AbortController();
  const signal = AbortSignal.any([own.signal, life.signal]);
  const resolve = (kind: string, name: string) => {
    const wanted = resourceId(kind, name);
    if (!step.references.some((reference) => reference.id === wanted && !reference.lazy)) {
      throw new Error(`${id} resolves ${wanted}, which its kind's references() does not name`);
    }
    return dependencies.get(wanted)?.value;
  };
  const log = slot.log.child({ kind: resource.kind, resource: resource.metadata.name });
  const context = { resolve: resolve as never, signal, log };
  const work = (async () => slot.definition.build(resource, context))();
  try {
    return new Version(step, await within(life.times.build, 'building it', work), parts);
  } catch (failure) {
    own.abort(failure);
    // A late value is not used, and a late failure was reported as a timeout.
    work.then(
      (value) => void new Version(step, value, parts).dispose(),
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

/**
 * A build that failed: with the same content and dependencies it is not tried at every reload, but after growing
 * pauses.
 */
export interface FailedBuild {
  readonly slot: KindSlot;
  readonly hash: string;
  /** Of its dependencies. */
  readonly generations: string;
  readonly problems: readonly ResourceProblem[];
  /** Builds of the same content that failed, this one included. */
  readonly attempts: number;
  /** When it is tried again; monotonic milliseconds. */
  readonly retryAt: number;
}
