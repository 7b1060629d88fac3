import type { RowWrite } from 'agent-gateway';
import type { AgentTurnEvent, ChatCall, TurnEnd } from '../../../agent-engine/contract.ts';
import type { WebhookEvent, WebhookEvents } from '../webhooks/webhook-events.ts';

/** The chat that is reported. */
interface ReportedChat {
  /** Undefined for the default agent. */
  readonly agentId: string | undefined;
  readonly call: ChatCall;
}

export type ChatReport = ReturnType<typeof reportChat>;

/** Begins the report of one turn to the webhooks of its tenant, without the content of its events. */
export function reportChat(events: WebhookEvents, { agentId, call }: ReportedChat) {
  const { tenantId, userId } = call.principal;
  const results: (AgentTurnEvent & { readonly type: 'tool_result' })[] = [];
  const common = (sessionId: string | undefined) => ({
    agent_id: agentId ?? null,
    session_id: sessionId ?? null,
  });
  const toolCalls = (sessionId: string | undefined): readonly WebhookEvent[] =>
    results.map(({ id, name, isError, agentPath }) => ({
      type: isError ? 'tool.call.failed' : 'tool.call.completed',
      data: { ...common(sessionId), call_id: id, tool: name, agent_path: agentPath },
      userId,
    }));
  return {
    saw(event: AgentTurnEvent): void {
      if (event.type === 'tool_result') results.push(event);
    },
    /** The writes of the reports, for the commit of the turn. */
    writes(sessionId: string | undefined, { result, usage }: TurnEnd): Promise<readonly RowWrite[]> {
      const { finish, model, checkpoint } = result;
      const waits = checkpoint && { interrupts: checkpoint.interrupts.map(({ id, type }) => ({ id, type })) };
      const data = { ...common(sessionId), finish, model, usage, ...waits };
      const type = checkpoint === undefined ? 'agent.run.completed' : 'agent.run.interrupted';
      return events.writes(tenantId, [...toolCalls(sessionId), { type, data, userId }]);
    },
    async failed(sessionId: string | undefined, error: unknown): Promise<void> {
      const code = (error as { readonly code?: unknown }).code;
      const data = { ...common(sessionId), error_code: typeof code === 'string' ? code : 'internal' };
      try {
        await events.emit(tenantId, ...toolCalls(sessionId), { type: 'agent.run.failed', data, userId });
      } catch (cause) {
        call.log.warn({ err: cause }, 'the failure of a chat was not reported to webhooks');
      }
    },
  };
}
