import { within } from '../base/deadline.ts';
import { GatewayError } from '../base/gateway-error.ts';
import { resourceId } from './header.ts';
import type { ResourceProblem } from './kind.ts';
import type { Step } from './plan.ts';
import { reasonOf } from './problem.ts';
import { Version, type VersionLife } from './version.ts';

/** What building needs beside the step. */
export interface BuildParts {
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
    // What still comes is too late for anybody to use, and what it fails of is told already.
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
