import type { Clock, TenantEntityManager } from 'agent-gateway';
import type { RunContext, Tools } from '../../agent-engine/contract.ts';
import type { OwnerReader, Sessions } from '../../records/contract.ts';

/** A client's request to call a tool. */
export interface ToolCallRequest {
  /** Ref or name. */
  readonly tool: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly context: RunContext;
  readonly reader: OwnerReader;
  readonly entities: TenantEntityManager;
}

/** Calls of tools by clients, outside of chats. */
export type ToolCalls = ReturnType<typeof createToolCalls>;

/** Makes the service. */
export function createToolCalls(parts: {
  readonly tools: Pick<Tools, 'invoke'>;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly clock: Clock;
}) {
  const { tools, sessions, clock } = parts;
  return {
    /**
     * Throws what `Tools.invoke` throws, and `session.not-found` and `session.forbidden` of a session that is not the
     * caller's.
     */
    async invoke({ tool, parameters, context, reader, entities }: ToolCallRequest) {
      if (context.sessionId !== undefined) await sessions.get(entities, reader, context.sessionId);
      const start = clock.monotonic();
      const { content, isError } = await tools.invoke({ tool, parameters, context });
      return {
        success: !isError,
        output: isError ? '' : content,
        error: isError ? content.replace(/^Error: /, '') : '',
        execution_ms: Math.max(0, Math.round(clock.monotonic() - start)),
      };
    },
  };
}
