import { extensionPoint } from 'agent-gateway';
import type { SandboxLanguage } from './sandbox.ts';

/**
 * One execution, as the engine of a plugin gets it: the code, and what the deployment and the policy of its tenant
 * allow.
 */
export interface SandboxRun {
  readonly tenantId: string;
  readonly language: SandboxLanguage;
  /** 256 KiB at most. */
  readonly code: string;
  /** What the code reads from standard input, 512 KiB at most; undefined: nothing. */
  readonly stdin: string | undefined;
  /** Milliseconds from `started` on. The gateway watches them, too, and aborts `stop` when they are over. */
  readonly timeoutMs: number;
  /** `SANDBOX_MEMORY`, in bytes. The engine has to enforce it. */
  readonly memoryBytes: number;
  /**
   * Bytes of stdout, and of stderr, that are kept. The gateway throws away what is beyond, and aborts `stop` 32 MiB
   * later.
   */
  readonly maxOutputBytes: number;
  /**
   * `open` where both `SANDBOX_ALLOW_NETWORK` and the policy of the tenant allow the network. With `none` the code has
   * none: no host, no name server.
   */
  readonly network: 'none' | 'open';
  /** Ends the code at once: its time, the caller, too much output, or the gateway's stop. */
  readonly stop: AbortSignal;
  /**
   * To be called when the code begins to run: only then its time counts. Without it the execution is
   * `sandbox.unavailable` after `SANDBOX_START_TIMEOUT`.
   */
  started(): void;
  /** What the code writes, while it runs or when it has ended. Bytes that are no UTF-8 are U+FFFD. */
  stdout(written: Uint8Array | string): void;
  stderr(written: Uint8Array | string): void;
}

/** How an execution ended. */
export interface SandboxEnd {
  /** Null where the code did not exit by itself. */
  readonly exitCode: number | null;
  /** True where the engine itself ended it for its time. */
  readonly isTimeout?: boolean;
  /**
   * Why it was ended, as a part of a sentence for the model: `it used more than 512 MiB of memory`. 500 characters
   * count.
   */
  readonly note?: string;
}

/** A way to run code away from the gateway, which `SANDBOX_MODE` names. */
export interface OfferedSandboxEngine {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * Whether it can keep code from the network. One that cannot is not asked to run code that must have none: that is
   * `sandbox.unavailable`.
   */
  readonly isolatesNetwork: boolean;
  /**
   * Runs code of models, of any tenant: an execution must not see anything of another one, or of the gateway. Settles
   * once nothing of the execution is left, soon after `stop`; 20 s after `stop` the gateway goes on without the engine,
   * and logs that. Throws `SandboxErrors.unavailable` with words for operators and models where the code could not be
   * run; anything else that is thrown is `sandbox.unavailable` without its words, and logged. The gateway adds the
   * queue of tenants, `SANDBOX_MAX_CONCURRENT` and metrics. The plugin has to end what still runs when it stops, with
   * `scope.drain`.
   */
  run(run: SandboxRun): Promise<SandboxEnd>;
}

/** Sandbox engines of other plugins. */
export const SandboxEnginesPoint = extensionPoint<OfferedSandboxEngine>('agent-engine.sandbox-engines', {
  name: 'text',
  run: 'function',
});
