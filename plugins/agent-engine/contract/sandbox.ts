import {
  defineErrors,
  defineEvent,
  type OfferName,
  serviceRef,
  type TenantEntityManager,
  Type,
} from 'agent-gateway';

/** What a tenant's agents may do (specification 1, sandbox policy; decisions 1.8). */
export interface SandboxPolicy {
  /** False: no code runs. */
  readonly enabled: boolean;
  readonly maxTimeoutSeconds: number;
  /** Names of the tools that are offered, of every kind; null: all. */
  readonly allowedTools: readonly string[] | null;
  /** False: code does not run in Docker, so that with `SANDBOX_MODE=docker` it is refused. */
  readonly allowDocker: boolean;
  /** True: code has no network, even where the deployment allows it. */
  readonly restrictNetwork: boolean;
  /** Of stdout and of stderr, in KiB. */
  readonly maxOutputKb: number;
}

/** The policy of a tenant that has none of its own. */
export const DEFAULT_SANDBOX_POLICY: SandboxPolicy = Object.freeze({
  enabled: true,
  maxTimeoutSeconds: 30,
  allowedTools: null,
  allowDocker: true,
  restrictNetwork: true,
  maxOutputKb: 256,
});

/** The sandbox policies of tenants. */
export interface SandboxPolicies {
  /** The policy in force; at most a second old. Not a promise when it is cached. */
  of(tenantId: string): SandboxPolicy | Promise<SandboxPolicy>;
  /** The tenant's own policy; undefined where the default holds. */
  find(entities: TenantEntityManager): Promise<SandboxPolicy | undefined>;
  /**
   * Changes the tenant's own policy, or creates it. Absent members keep their value, also when two changes come at one
   * time; for a tenant without a policy of its own they are those of the default. Not inside a transaction: other
   * replicas are notified at once.
   */
  change(entities: TenantEntityManager, changes: Partial<SandboxPolicy>): Promise<void>;
  /** Back to the default; false when it was in force already. Not inside a transaction, like `change`. */
  remove(entities: TenantEntityManager): Promise<boolean>;
}

/** The sandbox policy of a tenant was replaced or removed. */
export const SandboxPolicyChanged = defineEvent(
  'agent-engine.sandbox-policy-changed',
  Type.Object({ tenantId: Type.String({ maxLength: 36 }) }),
);

/** Languages that code may be written in. */
export type SandboxLanguage = 'python' | 'javascript' | 'shell';

/** Code to be run. */
export interface SandboxJob {
  readonly tenantId: string;
  readonly language: SandboxLanguage;
  readonly code: string;
  readonly stdin?: string;
  /** Milliseconds from start to end. */
  readonly timeoutMs: number;
  /** Bytes of stdout, and of stderr, that are kept; the rest is thrown away. */
  readonly maxOutputBytes: number;
  readonly allowNetwork: boolean;
  /** Ends the code. */
  readonly signal: AbortSignal;
}

/** The result of an execution. */
export interface SandboxResult {
  /** `error`: the code ended with another exit code than 0, or was killed for its memory. */
  readonly status: 'success' | 'error' | 'timeout';
  /** Null where it did not exit by itself. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** True where output was thrown away. */
  readonly isTruncated: boolean;
  readonly durationMs: number;
}

/** Where code of models runs: away from the gateway. */
export interface Sandbox {
  /** `SANDBOX_MODE`; undefined: every run throws `sandbox.disabled`. */
  readonly mode: 'local' | 'docker' | 'k8s-job' | OfferName | undefined;
  /** Runs code. Throws errors of `SandboxErrors`, and the signal's reason. */
  run(job: SandboxJob): Promise<SandboxResult>;
}

/** Why code was not run. */
export const SandboxErrors = defineErrors({
  /** `SANDBOX_MODE` is unset. */
  disabled: { code: 'sandbox.disabled', kind: 'unavailable', title: 'Code execution is turned off' },
  /** The tenant's policy forbids it. */
  forbidden: { code: 'sandbox.forbidden', kind: 'forbidden', title: 'The sandbox policy forbids this' },
  /** The engine (bubblewrap, Docker, Kubernetes, a plugin's) does not answer, refuses, or is not there. */
  unavailable: { code: 'sandbox.unavailable', kind: 'unavailable', title: 'The sandbox is not available' },
  /** Code or stdin is larger than an engine takes. */
  tooLarge: { code: 'sandbox.too-large', kind: 'too-large', title: 'The code or its input is too large' },
  /** More runs are waiting than the gateway is willing to queue. */
  busy: { code: 'sandbox.busy', kind: 'unavailable', title: 'Too many code executions are waiting' },
});

/** The sandbox of the deployment. */
export const SandboxRef = serviceRef<Sandbox>('agent-engine.sandbox');
/** The sandbox policies of tenants. */
export const SandboxPoliciesRef = serviceRef<SandboxPolicies>('agent-engine.sandbox-policies');
