import type { RowWrite } from 'agent-gateway';
import type {
  AgentTurn,
  AgentTurnEvent,
  AgentTurns,
  ChatCall,
  TurnEnd,
} from '../../../agent-engine/contract.ts';
import type { WebhookEvent, WebhookEvents } from '../webhooks/webhook-events.ts';
import type { AlsoWrite } from './background-chats.ts';

/** What is reported of a turn. */
interface ReportedTurn {
  /** Undefined for the default agent. */
  readonly agent?: string | undefined;
  readonly sessionId: string | undefined;
  /** False: there is no commit that the report could be a part of. */
  readonly isStored: boolean;
}

type Report = ReturnType<typeof reportOf>;

/**
 * Turns that are reported to the webhooks of their tenant, without the content of their events: in the commit of the
 * turn, and where it fails, also before its first event.
 */
export function reportedTurns(turns: AgentTurns, events: WebhookEvents): AgentTurns {
  async function reported(
    call: ChatCall,
    about: ReportedTurn,
    begin: (report: Report) => Promise<AgentTurn>,
  ): Promise<AgentTurn> {
    const report = reportOf(events, call, about.agent);
    let turn: AgentTurn;
    try {
      turn = await begin(report);
    } catch (error) {
      if ((error as { kind?: unknown }).kind === 'upstream') await report.failed(about.sessionId, error);
      throw error;
    }
    const { sessionId, model } = turn;
    const state = { isOver: false };
    return {
      sessionId,
      model,
      events: watched(turn, report, about.isStored, state),
      async [Symbol.asyncDispose]() {
        await turn[Symbol.asyncDispose]();
        // Its reader has left, or never began to read: nothing is thrown then.
        if (!state.isOver) await report.failed(sessionId);
        state.isOver = true;
      },
    };
  }

  return {
    begin: (call, { also = nothing, ...request }) =>
      reported(call, { ...request, sessionId: call.sessionId, isStored: request.store }, (report) =>
        turns.begin(call, { ...request, also: report.inCommit(also) }),
      ),
    resume: (call, { also = nothing, ...request }) =>
      reported(call, { ...request, isStored: true }, (report) =>
        turns.resume(call, { ...request, also: report.inCommit(also) }),
      ),
    abort: turns.abort,
  };
}

/** Not a function for each turn: V8 makes what each generator function inherits old at once. */
async function* watched(
  { events, sessionId }: AgentTurn,
  report: Report,
  isStored: boolean,
  state: { isOver: boolean },
) {
  try {
    for await (const event of events) {
      report.saw(event);
      state.isOver = event.type === 'end';
      if (event.type === 'end' && !isStored) await report.ended(event);
      yield event;
    }
  } catch (error) {
    state.isOver = true;
    await report.failed(sessionId, error);
    throw error;
  }
}

function reportOf(events: WebhookEvents, call: ChatCall, agent: string | undefined) {
  const { tenantId, userId } = call.principal;
  const results: (AgentTurnEvent & { readonly type: 'tool_result' })[] = [];
  const common = (sessionId: string | undefined) => ({
    agent_id: agent ?? null,
    session_id: sessionId ?? null,
  });
  const toolCalls = (sessionId: string | undefined): readonly WebhookEvent[] =>
    results.map(({ id, name, isError, agentPath }) => ({
      type: isError ? 'tool.call.failed' : 'tool.call.completed',
      data: { ...common(sessionId), call_id: id, tool: name, agent_path: agentPath },
      userId,
    }));
  function eventsOf(sessionId: string | undefined, { result, usage }: TurnEnd): readonly WebhookEvent[] {
    const { finish, model, checkpoint } = result;
    const waits = checkpoint && { interrupts: checkpoint.interrupts.map(({ id, type }) => ({ id, type })) };
    const data = { ...common(sessionId), finish, model, usage, ...waits };
    const type = checkpoint === undefined ? 'agent.run.completed' : 'agent.run.interrupted';
    return [...toolCalls(sessionId), { type, data, userId }];
  }
  async function emit(happened: readonly WebhookEvent[]): Promise<void> {
    try {
      await events.emit(tenantId, ...happened);
    } catch (cause) {
      call.log.warn({ err: cause }, 'the end of a chat was not reported to webhooks');
    }
  }
  return {
    saw(event: AgentTurnEvent): void {
      if (event.type === 'tool_result') results.push(event);
    },
    /** The writes of the report, and more, for the commit of the turn. */
    inCommit:
      (more: AlsoWrite): AlsoWrite =>
      (end, sessionId) =>
        together(events.writes(tenantId, eventsOf(sessionId, end)), more(end, sessionId)),
    /** Of a turn without a commit. */
    ended: (end: TurnEnd) => emit(eventsOf(undefined, end)),
    /** Default: for the reason for which the call has ended. */
    failed(sessionId: string | undefined, error: unknown = call.signal.reason): Promise<void> {
      const { code } = (error ?? {}) as { readonly code?: unknown };
      const data = { ...common(sessionId), error_code: typeof code === 'string' ? code : 'internal' };
      return emit([...toolCalls(sessionId), { type: 'agent.run.failed', data, userId }]);
    },
  };
}

/** Of a turn without more writes. */
export const nothing: AlsoWrite = async () => [];

export async function together(
  ...writes: readonly Promise<readonly RowWrite[]>[]
): Promise<readonly RowWrite[]> {
  return (await Promise.all(writes)).flat();
}
