import { defineErrors, GatewayError } from 'agent-gateway';

/** What can go wrong with a chat, beside the errors of the agent engine. */
export const ChatErrors = defineErrors({
  /** The model, or the engine itself, failed while an agent was at work. Nothing was stored. */
  agentFailed: { code: 'agent.failed', kind: 'upstream', title: 'The agent failed' },
});

/** Codes of the model port that tell of the request, and not of a failure. */
const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set(['model_not_found', 'model.aborted']);

/**
 * The error of the agent route for what its run threw: a failure of models or of the engine is 502 and not to be repeated by client
 * libraries, since tools may have run (specification 1, Chat, rule 1). What the request itself is to blame for stays as it is.
 */
export function agentFailure(thrown: unknown): GatewayError {
  if (!(thrown instanceof GatewayError)) {
    return ChatErrors.agentFailed(undefined, { retryable: false, cause: thrown });
  }
  const isModelFailure = thrown.code.startsWith('model.') && !ABOUT_THE_REQUEST.has(thrown.code);
  if (!isModelFailure && thrown.kind !== 'internal') return thrown;
  return ChatErrors.agentFailed(`The agent failed: ${thrown.detail}`, { retryable: false, cause: thrown });
}
