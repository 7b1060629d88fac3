import type { Clock } from 'agent-gateway';
import { linkSignals, TransientSet } from 'agent-gateway';
import {
  type Sandbox,
  type SandboxEnd,
  SandboxErrors,
  type SandboxJob,
  type SandboxResult,
} from '../../contract.ts';
import { checkSize, MAX_DISCARDED_BYTES, MAX_OUTPUT_BYTES, type SandboxEngine } from './engine.ts';
import { createRunQueue } from './run-queue.ts';
import type { SandboxMetrics } from './sandbox-metrics.ts';

/** What every engine has in common. */
interface SandboxRunnerOptions {
  readonly mode: NonNullable<Sandbox['mode']>;
  readonly engine: SandboxEngine;
  readonly maxConcurrent: number;
  readonly maxWaiting: number;
  /** Milliseconds for the turn to come, and again until the engine has started the code. */
  readonly startTimeoutMs: number;
  readonly clock: Clock;
  readonly metrics: SandboxMetrics;
}

/** Why code is ended from outside. */
type StopReason = 'left' | 'flooded' | 'not-started' | 'timeout';

/**
 * The sandbox over an engine: turns, deadlines, and the bounds of input and output. Disposing it ends what runs
 * (`sandbox.unavailable`) and then the engine.
 */
export function createSandboxRunner(options: SandboxRunnerOptions): Sandbox & AsyncDisposable {
  const { mode, engine, startTimeoutMs, clock, metrics } = options;
  const queue = createRunQueue({
    maxRunning: options.maxConcurrent,
    maxWaiting: options.maxWaiting,
    maxWaitMs: startTimeoutMs,
  });
  const closing = new AbortController();
  const live = new TransientSet<Promise<unknown>>();
  const measureLoad = () => {
    metrics.running.set(queue.running);
    metrics.waiting.set(queue.waiting);
  };

  async function run(job: SandboxJob): Promise<SandboxResult> {
    checkSize(job);
    using alive = linkSignals(job.signal, closing.signal);
    const left = alive.signal;
    const turn = queue.enter(job.tenantId, left);
    measureLoad();
    const leave = await turn.finally(measureLoad);
    const giveBack = () => {
      leave();
      measureLoad();
    };
    if (left.aborted) {
      giveBack();
      throw left.reason;
    }
    return await execute(job, left, giveBack);
  }

  /**
   * The place is given back when the engine is done, which may be after the caller got its answer.
   *
   * @param left the caller has left, or the gateway stops
   */
  async function execute(job: SandboxJob, left: AbortSignal, leave: () => void): Promise<SandboxResult> {
    const stop = new AbortController();
    let reason: StopReason | undefined;
    const end = (why: StopReason) => {
      reason ??= why;
      stop.abort();
    };
    const maxBytes = Math.min(job.maxOutputBytes, MAX_OUTPUT_BYTES);
    const stdout = createOutputCapture(maxBytes, () => end('flooded'));
    const stderr = createOutputCapture(maxBytes, () => end('flooded'));
    // Resolved to answer the caller without waiting for the engine.
    const givenUp = Promise.withResolvers<SandboxEnd>();
    const giveUp = (why: StopReason) => {
      end(why);
      givenUp.resolve({ exitCode: null });
    };
    let began: number | undefined;
    let timer = setTimeout(() => giveUp('not-started'), startTimeoutMs);
    const started = () => {
      if (began !== undefined || reason !== undefined) return;
      began = clock.monotonic();
      clearTimeout(timer);
      timer = setTimeout(() => end('timeout'), job.timeoutMs + engine.graceMs);
    };
    const onLeft = () => giveUp('left');
    left.addEventListener('abort', onLeft);
    const work = engine
      .run({ job, stop: stop.signal, started, stdout: stdout.write, stderr: stderr.write })
      .finally(leave);
    const settled = work.then(nothing, nothing);
    live.add(settled);
    void settled.then(() => live.delete(settled));
    try {
      const ended = await Promise.race([work, givenUp.promise]).catch((error: unknown): SandboxEnd => {
        // Code that was stopped may well fail while it stops.
        if (reason === undefined) throw error;
        return { exitCode: null };
      });
      if (reason === 'left') throw left.reason;
      if (reason === 'not-started')
        throw SandboxErrors.unavailable(`the ${mode} sandbox did not start the code in time`);
      const note = reason === 'flooded' ? 'it wrote too much' : ended.note;
      return {
        status: statusOf(reason, ended),
        exitCode: reason === undefined ? ended.exitCode : null,
        stdout: stdout.text(),
        stderr:
          note === undefined ? stderr.text() : `${stderr.text()}\n[sandbox] The code was ended: ${note}\n`,
        isTruncated: stdout.isTruncated() || stderr.isTruncated(),
        durationMs: Math.round(clock.monotonic() - (began ?? clock.monotonic())),
      };
    } finally {
      clearTimeout(timer);
      left.removeEventListener('abort', onLeft);
    }
  }

  return {
    mode,
    run: (job) => measured(job, run(job), metrics),
    async [Symbol.asyncDispose]() {
      closing.abort(SandboxErrors.unavailable('the gateway is stopping'));
      await Promise.all(live);
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** The sandbox of a deployment that has none. */
export function disabledSandbox(): Sandbox & AsyncDisposable {
  return {
    mode: undefined,
    run: () =>
      Promise.reject(
        SandboxErrors.disabled('code is not executed here: the operator has not set SANDBOX_MODE'),
      ),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function statusOf(
  reason: StopReason | undefined,
  { exitCode, isTimeout }: SandboxEnd,
): SandboxResult['status'] {
  if (reason === 'timeout' || (reason === undefined && isTimeout === true)) return 'timeout';
  return reason === undefined && exitCode === 0 ? 'success' : 'error';
}

async function measured(
  { language, signal }: SandboxJob,
  running: Promise<SandboxResult>,
  { runs, seconds }: SandboxMetrics,
): Promise<SandboxResult> {
  try {
    const result = await running;
    runs.inc({ language, outcome: result.status });
    if (result.durationMs > 0) seconds.observe({ language }, result.durationMs / 1000);
    return result;
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code;
    const isOurs = typeof code === 'string' && code.startsWith('sandbox.');
    const failure = isOurs ? code.slice('sandbox.'.length) : 'failed';
    runs.inc({ language, outcome: signal.aborted ? 'aborted' : failure });
    throw error;
  }
}

const nothing = () => undefined;

/**
 * Keeps the first bytes of a stream, and counts the others.
 *
 * @param maxBytes what is kept
 * @param onFlood called once, when so much has come beyond it that reading on would be a burden
 */
export function createOutputCapture(maxBytes: number, onFlood: () => void) {
  const kept: Buffer[] = [];
  let room = maxBytes;
  let discarded = 0;
  return {
    write(bytes: Uint8Array): void {
      if (room > 0) {
        // A copy: what was read is a part of a pooled buffer that would stay in memory as a whole.
        kept.push(Buffer.from(bytes.subarray(0, room)));
      }
      const excess = Math.max(0, bytes.length - room);
      room = Math.max(0, room - bytes.length);
      const before = discarded;
      discarded += excess;
      if (before <= MAX_DISCARDED_BYTES && discarded > MAX_DISCARDED_BYTES) onFlood();
    },
    isTruncated: () => discarded > 0,
    // `ignoreBOM: true` keeps a leading U+FEFF, which belongs to the output.
    /** What was kept, as text: bytes that are no UTF-8 are U+FFFD, and a character that the cap cut is left out. */
    text: () =>
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(kept), { stream: discarded > 0 }),
  };
}
