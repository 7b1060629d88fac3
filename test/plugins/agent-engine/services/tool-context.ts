import pino from 'pino';
import type { ToolContext } from '../../../../plugins/agent-engine/contract.ts';

/** What a tool is called with in tests. */
export function toolContext(parts: Partial<ToolContext> = {}): ToolContext {
  return {
    principal: { tenantId: 'tenant', identityId: 'identity', userId: 'user' },
    sessionId: 'session',
    requestId: 'request',
    signal: new AbortController().signal,
    log: pino({ enabled: false }),
    callId: 'call_1',
    agentPath: ['assistant'],
    ...parts,
  };
}
