import { DeadlineError, type Logger, lacksOffer, offerNamed, orAborted, within } from 'agent-gateway';
import { type OfferedSandboxEngine, type SandboxEnd, SandboxErrors } from '../../contract.ts';
import type { EngineRun, SandboxEngine, WriteOutput } from './engine.ts';
import { END_MS } from './sandbox-config.ts';

/** What the engine of a plugin is made of. */
export interface ProvidedEngineParts {
  /** `SANDBOX_MODE`. */
  readonly name: string;
  /** The engines that plugins contribute now. */
  readonly engines: () => readonly OfferedSandboxEngine[];
  readonly allowNetwork: boolean;
  readonly memoryBytes: number;
  readonly log: Logger;
  /** Milliseconds that an engine has to end code which was stopped; default 20,000. */
  readonly endMs?: number;
}

const MAX_NOTE = 500;

/**
 * Code in the engine of a plugin, which may come and go: it is looked up for each execution. Decides about the network,
 * and holds the plugin to its promises: it ends soon after `stop`, returns a valid end, and writes no output after it.
 * Throws `sandbox.unavailable` while no plugin offers it.
 */
export function openProvidedEngine(parts: ProvidedEngineParts): SandboxEngine {
  const { name, engines, allowNetwork, memoryBytes, log, endMs = END_MS } = parts;

  async function run({ job, stop, started, stdout, stderr }: EngineRun): Promise<SandboxEnd> {
    const offers = engines();
    const engine = offerNamed(name, offers);
    if (engine === undefined) throw SandboxErrors.unavailable(lacksOffer('SANDBOX_MODE', name, offers));
    const network = allowNetwork && job.allowNetwork ? 'open' : 'none';
    if (network === 'none' && engine.isolatesNetwork !== true)
      throw SandboxErrors.unavailable(
        `${name} cannot keep code from the network, and this code must have none`,
      );
    const { tenantId, language, code, stdin, timeoutMs, maxOutputBytes } = job;
    let isOver = false;
    const write = (to: WriteOutput) => (written: Uint8Array | string) => {
      if (!isOver) to(typeof written === 'string' ? Buffer.from(written) : written);
    };
    try {
      const work = Promise.resolve(
        engine.run({
          tenantId,
          language,
          code,
          stdin,
          timeoutMs,
          memoryBytes,
          maxOutputBytes,
          network,
          stop,
          started,
          stdout: write(stdout),
          stderr: write(stderr),
        }),
      );
      return endOf(await soonAfter(stop, work));
    } catch (error) {
      throw failureOf(error, stop);
    } finally {
      isOver = true;
    }
  }

  /** The result of the work, which has `endMs` to end after the signal. */
  async function soonAfter<T>(stop: AbortSignal, work: Promise<T>): Promise<T> {
    await orAborted(work, stop).catch(() => {});
    return stop.aborted ? within(endMs, 'the end of the code', work) : work;
  }

  function failureOf(error: unknown, stop: AbortSignal): unknown {
    if (error instanceof DeadlineError && stop.aborted) {
      log.warn({ engine: name }, 'the sandbox engine of a plugin did not end code that was stopped');
      return SandboxErrors.unavailable(`${name} did not end the code in time`, { cause: error });
    }
    if (SandboxErrors.unavailable.is(error)) return error;
    if (!stop.aborted) log.warn({ err: error, engine: name }, 'the sandbox engine of a plugin failed');
    return SandboxErrors.unavailable(`${name} failed`, { cause: error });
  }

  return { graceMs: 0, run, [Symbol.asyncDispose]: async () => {} };
}

/** Throws for an end that is invalid. */
function endOf({ exitCode, isTimeout, note }: SandboxEnd): SandboxEnd {
  if (exitCode !== null && !Number.isInteger(exitCode)) throw new Error('the exit code is no whole number');
  return {
    exitCode,
    isTimeout: isTimeout === true,
    ...(typeof note === 'string' ? { note: note.slice(0, MAX_NOTE).toWellFormed() } : {}),
  };
}
