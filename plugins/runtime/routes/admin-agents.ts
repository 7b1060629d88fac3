import {
  access,
  type FieldError,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
  Type,
} from 'agent-gateway';
import {
  type AgentDefinitions,
  type AgentDetail,
  agentCaller,
  MAX_DEFINITION,
} from '../services/admin/agent-definitions.ts';

const YAML = 'apiVersion: svc/v1\nkind: Agent\nmetadata: { name: clerk }\nspec: { type: chat_model_agent }\n';

/** A definition as it is sent. */
const Definition = Type.Object({
  yaml: Type.String({
    maxLength: MAX_DEFINITION,
    description: 'One document of the kind Agent, as in agents.d',
    examples: [YAML],
  }),
});

/** An agent as administrators see it (decisions 3.2). */
const AgentRecord = Type.Object({
  name: Type.String({ examples: ['clerk'] }),
  description: Type.String({ examples: ['Answers letters'] }),
  type: Type.String({ examples: ['chat_model_agent'] }),
  source: Type.Enum(['file', 'tenant'], { description: 'file: of agents.d, and so of the deployment' }),
  yaml: Type.Optional(Type.String({ description: 'Not in lists; of the deployment’s agents for operators' })),
  created_at: Type.Optional(Timestamp),
  updated_at: Type.Optional(Timestamp),
});

const One = Type.Object({ agent: AgentRecord });

const Problem = Type.Object({ line: Type.Integer(), pointer: Type.String(), message: Type.String() });

const Warnings = Type.Array(Problem, {
  description: 'Tools and the model that nobody offers now; a definition with them is valid',
  examples: [[]],
});

/** What was stored, with what `validate` would warn of. */
const Stored = Type.Object({ agent: AgentRecord, warnings: Warnings });

const Checked = Type.Object({
  valid: Type.Boolean(),
  errors: Type.Array(Problem, { examples: [[]] }),
  warnings: Warnings,
});

const params = Type.Object({ name: Type.String() });
const query = pageQuery({ defaultLimit: 50 });
const common = { access: access.role('admin'), tag: 'administration' } as const;
const PATH = '/admin/agents';
const ONE = `${PATH}/{name}`;

/** A problem of the document, with a pointer into the body. */
const inYaml = (problem: FieldError): FieldError => ({
  ...problem,
  pointer: `/body/yaml${problem.pointer}`,
});

function recordOf({ name, description, type, source, yaml, createdAt, updatedAt }: AgentDetail) {
  return {
    name,
    description,
    type,
    source,
    ...(yaml !== undefined && { yaml }),
    ...(createdAt !== undefined && { created_at: new Date(createdAt).toISOString() }),
    ...(updatedAt !== undefined && { updated_at: new Date(updatedAt).toISOString() }),
  };
}

/** The administration of agents (specification 3, v2 HTTP API; decisions 3.2). */
export function agentAdminRoutes(agents: AgentDefinitions): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List the definitions of agents: the tenant’s own, newest first, then those of agents.d',
      schema: { query, responses: { 200: listOf('agents', AgentRecord) } },
      handle: async (call) => {
        const { limit, offset } = pageOf(call.query);
        const all = await agents.list(agentCaller(call.identity));
        const shown = all.slice(offset, offset + limit).map(recordOf);
        return { agents: shown, total: all.length, limit, offset };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Make an agent of the tenant; as an operator a file of agents.d',
      schema: { body: Definition, responses: { 201: Stored } },
      handle: async (call) => {
        const agent = await agents.create(agentCaller(call.identity), call.body.yaml, inYaml);
        call.audit({ changes: { agent: agent.name, source: agent.source } });
        return reply.created({ agent: recordOf(agent), warnings: agent.warnings });
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: `${PATH}/validate`,
      summary: 'Look at a definition without keeping it',
      schema: { body: Definition, responses: { 200: Checked } },
      handle: async (call) => {
        const { errors, warnings } = await agents.check(call.tenant.id, call.body.yaml);
        return { valid: errors.length === 0, errors, warnings };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: ONE,
      summary: 'Read the definition of an agent',
      schema: { params, responses: { 200: One } },
      handle: async ({ identity, params: { name } }) => ({
        agent: recordOf(await agents.get(agentCaller(identity), name)),
      }),
    }),
    route({
      ...common,
      method: 'PUT',
      path: ONE,
      summary: 'Replace the definition of an agent; runs under way keep the one that they began with',
      schema: { params, body: Definition, responses: { 200: Stored } },
      handle: async (call) => {
        const { yaml } = call.body;
        const agent = await agents.update(agentCaller(call.identity), call.params.name, () => yaml, inYaml);
        call.audit({ changes: { agent: agent.name, source: agent.source } });
        return { agent: recordOf(agent), warnings: agent.warnings };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: ONE,
      summary: 'Delete an agent that no other agent hands work over to',
      schema: { params, responses: { 204: null } },
      handle: async (call) => {
        await agents.remove(agentCaller(call.identity), call.params.name);
        call.audit({ changes: { agent: call.params.name, deleted: true } });
        return reply.empty();
      },
    }),
  ];
}
