import { GatewayError, parseRetryAfter } from 'agent-gateway';
import { AgentErrors, type AgentFinish, GuardErrors, ModelErrors } from '../../../agent-engine/contract.ts';
import type { JsonObject } from '../../contract/graph.ts';
import { StepFailure } from '../../contract/node-types.ts';

/** How an error of the agent engine fails a step. */
interface FailureKind {
  readonly code: string;
  readonly isRetryable: boolean;
  /** What the author of the graph can do about it. */
  readonly advice?: string | undefined;
}

const final = (code: string): FailureKind => ({ code, isRetryable: false });
const passing = (code: string, advice?: string): FailureKind => ({ code, isRetryable: true, advice });

/**
 * By the code of the error. Refusals of the guardrails are final: repeating a request until it passes does not make a
 * text safe.
 */
const KINDS: Readonly<Record<string, FailureKind>> = {
  // Agents and models come with the files of a replica, which may be newer than those of the one that has the step.
  [AgentErrors.notFound.definition.code]: passing(
    'agent_not_found',
    'Name an agent of the deployment in `agent`, or leave it out for the default agent.',
  ),
  [ModelErrors.notFound.definition.code]: passing(
    'model_not_found',
    'GET /v1/models lists the aliases that `model` may name.',
  ),
  [GuardErrors.inputBlocked.definition.code]: final('input_blocked'),
  [GuardErrors.outputBlocked.definition.code]: final('output_blocked'),
  [ModelErrors.rejected.definition.code]: final('model_rejected'),
  [ModelErrors.contextLengthExceeded.definition.code]: final('model_rejected'),
  [ModelErrors.contentFilter.definition.code]: final('model_rejected'),
  [ModelErrors.unknownToProvider.definition.code]: final('model_unknown_to_provider'),
  [ModelErrors.rateLimited.definition.code]: passing('model_rate_limited'),
  [ModelErrors.insufficientQuota.definition.code]: passing('model_rate_limited'),
  [ModelErrors.upstream.definition.code]: passing('model_upstream'),
  [ModelErrors.timeout.definition.code]: passing('model_timeout'),
  [ModelErrors.overloaded.definition.code]: passing('model_overloaded'),
  [ModelErrors.unavailable.definition.code]: passing('model_unavailable'),
};

/**
 * The failure of a step for what an agent's run threw. An error without a code of a catalogue is rethrown. `record` is
 * what the attempt's history shows with the failure.
 */
export function agentFailure(thrown: unknown, record: JsonObject): StepFailure {
  if (!(thrown instanceof GatewayError)) throw thrown;
  const kind = KINDS[thrown.code] ?? passing('agent_failed');
  const words = kind.advice === undefined ? thrown.detail : `${thrown.detail} ${kind.advice}`;
  const retryAfter = thrown.extras.headers?.['retry-after'];
  return new StepFailure(kind.code, words, {
    // A provider that answers 4xx does so again; a quota may be filled up meanwhile.
    isRetryable: kind.isRetryable && !(kind.code === 'model_upstream' && thrown.extras.retryable === false),
    // The engine's errors say it in seconds, so no clock is needed.
    retryAfterMs: parseRetryAfter(retryAfter, 0),
    record: { ...record, ...(typeof retryAfter === 'string' && { retry_after: retryAfter.slice(0, 64) }) },
    cause: thrown,
  });
}

/** By the end that an agent came to. */
const UNFINISHED: Partial<Record<AgentFinish, FailureKind & { readonly advice: string }>> = {
  iteration_limit: {
    code: 'iteration_limit',
    isRetryable: false,
    advice:
      'The agent reached its limit of model calls, or of 8 Mi characters, before it had an answer. Raise `max_iterations` (50 at most), or give it less to do.',
  },
  length: {
    code: 'answer_cut',
    isRetryable: true,
    advice:
      'The answer of the model was cut at its limit of tokens. Ask for a shorter one, or choose another model.',
  },
  content_filter: {
    code: 'content_filter',
    isRetryable: false,
    advice: 'The content filter of the model provider withheld the answer.',
  },
};

/** The failure of a step whose agent came to an end without a whole answer; undefined for one that has it. */
export function finishFailure(finish: AgentFinish, record: JsonObject): StepFailure | undefined {
  if (finish === 'stop') return undefined;
  const unfinished = UNFINISHED[finish];
  // Neither client tools nor pauses are asked for, so this would be a mistake in the engine.
  if (unfinished === undefined) throw new Error(`an agent task ended with ${finish}`);
  const { code, isRetryable, advice } = unfinished;
  return new StepFailure(code, advice, { isRetryable, record });
}
