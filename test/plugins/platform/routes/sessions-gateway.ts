import type { ExecutionContext } from 'ava';
import { writes } from '../../../../foundation/data/database.ts';
import type { ChatMessage, Principal } from '../../../../plugins/agent-engine/contract.ts';
import { mockSessionRoute, sessionRoutes } from '../../../../plugins/platform/routes/sessions.ts';
import type { Sessions, Turns } from '../../../../plugins/records/contract.ts';
import { createSessions } from '../../../../plugins/records/services/sessions/sessions.ts';
import { createTurns } from '../../../../plugins/records/services/sessions/turns.ts';
import { entities } from '../../../../plugins/records/store/entities.ts';
import { migrations } from '../../../../plugins/records/store/migrations.ts';
import { SessionMessageEntity } from '../../../../plugins/records/store/sessions.ts';
import { startTestGateway, type TestGateway } from '../../../../testing/index.ts';
import { testPlugin } from '../../../support/plugins.ts';

/** A gateway with sessions, their routes, and nothing else. */
export interface SessionsGateway extends TestGateway {
  readonly turns: Turns;
  readonly sessions: Sessions;
  /** Makes a key of a tenant. */
  key(
    tenantId: string,
    settings?: { readonly roles?: readonly string[]; readonly scopes?: readonly string[] },
  ): Promise<{ readonly id: string; readonly token: string }>;
  /** Stores one turn and returns the session's id. */
  talk(principal: Principal, sessionId?: string, messages?: readonly ChatMessage[]): Promise<string>;
}

/** What `talk` says unless it is told. */
export const MESSAGES: readonly ChatMessage[] = [
  { role: 'user', content: 'Hello?' },
  { role: 'assistant', content: 'Hello!' },
];

/** Starts it; it is stopped when the test ends. */
export async function startSessionsGateway(
  t: ExecutionContext,
  options: { readonly env?: Readonly<Record<string, string>>; readonly hasMocks?: boolean } = {},
): Promise<SessionsGateway> {
  let services: Pick<SessionsGateway, 'turns' | 'sessions'> | undefined;
  const plugin = testPlugin('records', {
    entities,
    migrations,
    setup(scope) {
      const { database, leases, clock, ids, durableEvents } = scope.services;
      const metering = { write: () => writes.insert(SessionMessageEntity, []) };
      const turns = createTurns({ database, leases, metering, durableEvents, clock, ids });
      const sessions = createSessions({ leases, data: () => [], durableEvents });
      services = { turns, sessions };
      scope.route(...sessionRoutes(sessions, turns));
      if (options.hasMocks === true) scope.route(mockSessionRoute(sessions, turns));
    },
  });
  const gateway = await startTestGateway({ env: options.env ?? {}, plugins: [plugin] });
  t.teardown(gateway.stop);
  if (services === undefined) throw new Error('the plugin was not set up');
  const { turns } = services;
  const { apiKeys } = gateway.gateway.services;
  return Object.assign(gateway, services, {
    key: async (
      tenantId: string,
      { roles = ['user'], scopes = [] }: Parameters<SessionsGateway['key']>[1] = {},
    ) => {
      const settings = { tenantId, name: 'test', roles, scopes, expiresAt: null, createdBy: null };
      const { record, key } = await apiKeys.create(settings);
      return { id: record.id, token: key };
    },
    talk: async (principal: Principal, sessionId?: string, messages = MESSAGES) => {
      const { signal } = new AbortController();
      await using turn = await turns.begin({ principal, sessionId, isAdmin: false, maxSessions: 10, signal });
      const counted = {
        model: 'demo',
        provider: 'demo',
        providerModel: 'demo',
        inputTokens: 7,
        outputTokens: 3,
      };
      const use = { ...counted, cacheReadTokens: 0, cacheWriteTokens: 0, isEstimated: false, costUsd: '0' };
      await turn.commit({ model: 'demo', source: 'chat', messages, uses: [use] });
      return turn.sessionId;
    },
  });
}
