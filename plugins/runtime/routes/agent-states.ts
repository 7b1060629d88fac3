import { access, type Route, reply, route, Type } from 'agent-gateway';
import type { AgentStates } from '../services/agent-states.ts';

const AgentParams = Type.Object({ agent_id: Type.String() });

/** A text that cannot be a key is unknown, not malformed: 404. */
const KeyParams = Type.Object({ ...AgentParams.properties, key: Type.String() });

/** A key with its value (specification 3, Agent state). */
const AgentId = Type.String({ examples: ['helper'] });
const Value = Type.Unknown({
  description: 'Any JSON, `null` too; 64 KiB at most',
  examples: [{ kind: 'green' }],
});
const Entry = Type.Object({ agent_id: AgentId, key: Type.String({ examples: ['tea'] }), value: Value });

const State = Type.Object({
  agent_id: AgentId,
  state: Type.Record(Type.String(), Value, { examples: [{ tea: { kind: 'green' } }] }),
});

const SetState = Type.Object({
  key: Type.String({
    pattern: '^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]{1,128}$',
    patternErrorMessage: 'must have 1 to 128 characters, without control characters, and be neither . nor ..',
    description: '1 to 128 characters; no control characters, neither . nor ..',
    examples: ['tea'],
  }),
  value: Value,
});

const tag = 'agent-state';
const PATH = '/agents/{agent_id}/state';

/** Values that agents store under keys, for their tenant (specification 3, v2 HTTP API; decisions 3.2). */
export function agentStateRoutes(states: AgentStates): readonly Route[] {
  return [
    route({
      tag,
      access: access.open(['read']),
      method: 'GET',
      path: PATH,
      summary: 'Read all state of an agent',
      schema: { params: AgentParams, responses: { 200: State } },
      handle: async (call) => {
        const { agent_id } = call.params;
        return { agent_id, state: Object.fromEntries(await states.all(call.entities(), agent_id)) };
      },
    }),
    route({
      tag,
      access: access.open(['read']),
      method: 'GET',
      path: `${PATH}/{key}`,
      summary: 'Read one value of the state of an agent',
      schema: { params: KeyParams, responses: { 200: Entry } },
      handle: async (call) => {
        const { agent_id, key } = call.params;
        return { agent_id, key, value: await states.get(call.entities(), agent_id, key) };
      },
    }),
    route({
      tag,
      access: access.open(['write']),
      method: 'POST',
      path: PATH,
      summary: 'Keep a value under a key, over the one that is there',
      schema: { params: AgentParams, body: SetState, responses: { 200: Entry } },
      handle: async (call) => {
        const { agent_id } = call.params;
        const { key, value } = call.body;
        await states.set(call.entities(), agent_id, key, value);
        call.audit({ changes: { agent_id, key } });
        return { agent_id, key, value };
      },
    }),
    route({
      tag,
      access: access.role('admin'),
      method: 'DELETE',
      path: `${PATH}/{key}`,
      summary: 'Delete a key of the state of an agent',
      schema: { params: KeyParams, responses: { 204: null } },
      handle: async (call) => {
        const { agent_id, key } = call.params;
        await states.remove(call.entities(), agent_id, key);
        call.audit({ changes: { agent_id, key, deleted: true } });
        return reply.empty();
      },
    }),
  ];
}
