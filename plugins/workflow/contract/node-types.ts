import { extensionPoint, type Logger, type TenantEntityManager } from 'agent-gateway';
import type { TSchema } from 'typebox';
import type { JsonObject } from './graph.ts';

/** One attempt of one step, for the node type that carries it out. */
export interface StepTask {
  readonly tenantId: string;
  readonly runId: string;
  readonly stepRunId: string;
  readonly nodeId: string;
  readonly nodeName: string;
  /** 1 for the first. A redelivery after a crash has the number of the attempt that it repeats. */
  readonly attempt: number;
  /** 1 for the first; above it the attempt is repeated because its worker was lost, or stopped. */
  readonly delivery: number;
  /**
   * `<step_run_id>-<attempt>`: the same for every delivery of an attempt. A type with effects outside the gateway sends
   * it along.
   */
  readonly idempotencyKey: string;
  /** The node's configuration with its templates filled in; the same for every delivery of an attempt. */
  readonly input: JsonObject;
  /** The identity that started the run. */
  readonly startedBy: string;
  /** The user for whom it started the run, as records hold the name; without one the identity. */
  readonly userId: string;
  /**
   * Aborts at the step's deadline, when the run is cancelled, when the gateway stops, and when another worker has taken
   * the step.
   */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** The result of a step. A type throws `StepFailure` (or anything else) to fail. */
export interface StepResult {
  /** Reachable as `steps.<nodeId>.output`; 1 MiB of JSON at most. */
  readonly output: JsonObject;
  /** What the attempt's history shows (`{status: 200, duration_ms: 12}`), without secrets; 4 KiB of JSON at most. */
  readonly record?: JsonObject;
  /** Writes that commit with the step's completion, or not at all. It may wait for nothing but the database. */
  also?(entities: TenantEntityManager): Promise<void>;
}

/** Why a step failed. */
export class StepFailure extends Error {
  readonly code: string;
  /** False: another attempt would fail the same way, and the node's `retry` does not apply. */
  readonly isRetryable: boolean;
  readonly record: JsonObject | undefined;
  /**
   * Milliseconds that the other side asked to be left alone: the next attempt waits at least as long, up to the
   * `max_delay` of the node's `retry`.
   */
  readonly retryAfterMs: number | undefined;

  /**
   * @param code stable, `[a-z0-9_]{1,64}`
   * @param message for the author of the graph, without secrets
   */
  constructor(
    code: string,
    message: string,
    options: {
      readonly isRetryable?: boolean;
      readonly record?: JsonObject | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'StepFailure';
    this.code = code;
    this.isRetryable = options.isRetryable ?? true;
    this.record = options.record;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * How a text of the configuration is filled in: `url` percent-encodes what is inserted. `none`: it is not a template.
 */
export type TemplateMode = 'text' | 'url' | 'none';

/** A kind of automatic node. */
export interface NodeType {
  /** `agent_task`; of another plugin `<plugin>/<type>`, lower-case letters, digits, `_` and `-`. */
  readonly type: string;
  /** One sentence for people who draw graphs. */
  readonly summary: string;
  /**
   * Schema of `config`, before templates are filled in: what may be a template is a string. `retry` is added by the
   * engine. Refuses unknown members.
   */
  readonly config: TSchema;
  /** How members of `config` are filled in; those not named are `text`, at any depth. */
  readonly templates?: Readonly<Record<string, TemplateMode>>;
  /**
   * What the schema cannot say; `pointer` is relative to the configuration (`/url`), `message` goes on after the name
   * of the member, `code` is stable and by default `workflow.graph.config-invalid`. Called with a configuration that
   * the schema accepts. So that all problems are reported at once, it is also called with a configuration from which
   * the members that the schema refuses were removed: then required members of the first level may be missing, and what
   * it throws, or reports of the whole configuration, is ignored. Pure.
   */
  check?(
    config: JsonObject,
  ): readonly { readonly pointer: string; readonly message: string; readonly code?: string }[];
  /**
   * Does the work, outside any transaction. May be called again for the same attempt after a crash: effects outside are
   * at-least-once. Must end soon after `signal` has aborted.
   */
  execute(task: StepTask): Promise<StepResult>;
}

/** Node types of other plugins, for every graph of every tenant. */
export const NodeTypesPoint = extensionPoint<NodeType>('workflow.node-types', {
  type: 'text',
  summary: 'text',
  templates: 'any?',
  check: 'function?',
  execute: 'function',
});
