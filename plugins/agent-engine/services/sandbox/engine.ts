import type { SandboxJob } from '../../contract.ts';

/** Takes bytes of stdout or stderr. */
export type WriteOutput = (bytes: Uint8Array) => void;

/** One execution, as an engine gets it. */
export interface EngineRun {
  readonly job: SandboxJob;
  /** Ends the code at once: the deadline, the caller, too much output, or the gateway's stop. */
  readonly stop: AbortSignal;
  /** To be called when the code begins to run: only then its time counts. */
  started(): void;
  readonly stdout: WriteOutput;
  readonly stderr: WriteOutput;
}

/** How an execution ended. */
export interface EngineEnd {
  /** Null where the code did not exit by itself. */
  readonly exitCode: number | null;
  /** True where the engine itself ended it for its time. */
  readonly isTimeout?: boolean;
  /** Why it was ended, as a sentence for the model: it used too much memory, for example. */
  readonly note?: string;
}

/** A way to run code away from the gateway. */
export interface SandboxEngine extends AsyncDisposable {
  /** Milliseconds beyond the job's own time after which `stop` is raised, for an engine that watches the time itself. */
  readonly graceMs: number;
  /**
   * Runs code. Settles once nothing of it is left, soon after `stop`; its deadlines are its own. Throws `sandbox.unavailable` where
   * the code could not be run.
   */
  run(run: EngineRun): Promise<EngineEnd>;
}
