import { access, type Route, route, Type, toWire } from 'agent-gateway';
import type { Agents, Tools } from '../../agent-engine/contract.ts';
import type { Skills } from '../../records/contract.ts';

/** An agent as lists show it (specification 3, Resources). */
const AgentItem = Type.Object({
  name: Type.String({ examples: ['helper'] }),
  description: Type.String({ examples: ['Calculates'] }),
  type: Type.String({ examples: ['chat_model_agent'] }),
});

/** A skill as lists show it. */
const SkillItem = Type.Object({
  name: Type.String({ examples: ['tea'] }),
  description: Type.String({ examples: ['About tea'] }),
  version: Type.String({ examples: ['1.0.0'] }),
  source: Type.String({ examples: ['user'] }),
});

const SkillList = Type.Object({ skills: Type.Array(SkillItem), total: Type.Integer() });

const ToolItem = Type.Object({
  name: Type.String({ examples: ['calculator'] }),
  description: Type.String({ examples: ['Calculates an arithmetic expression exactly.'] }),
});

const ToolList = Type.Object({ tools: Type.Array(ToolItem), count: Type.Integer() });

const [toAgent, toSkill, toTool] = [toWire(AgentItem), toWire(SkillItem), toWire(ToolItem)];

/** The sources of the lists. */
interface Catalog {
  readonly agents: Pick<Agents, 'list'>;
  readonly skills: Pick<Skills, 'list'>;
  readonly tools: Pick<Tools, 'list'>;
}

/** The agents, skills and tools that a caller may use (specification 3, v2 HTTP API). */
export function catalogRoutes({ agents, skills, tools }: Catalog): readonly Route[] {
  const shown = async (tenantId: string, fits: (text: string) => boolean) => {
    const all = await skills.list(tenantId);
    const found = all.filter(({ name, description }) => fits(name) || fits(description));
    return { skills: found.map(toSkill), total: found.length };
  };
  const common = { method: 'GET', access: access.open(['read']), tag: 'catalog' } as const;
  return [
    route({
      ...common,
      path: '/agents',
      summary: 'List the agents',
      schema: { responses: { 200: Type.Object({ agents: Type.Array(AgentItem) }) } },
      handle: async (call) => ({ agents: (await agents.list(call.tenant.id)).map(toAgent) }),
    }),
    route({
      ...common,
      path: '/skills',
      summary: 'List the installed skills',
      schema: { responses: { 200: SkillList } },
      handle: (call) => shown(call.tenant.id, () => true),
    }),
    route({
      ...common,
      path: '/skills/search',
      summary: 'Find skills by name and description',
      schema: {
        query: Type.Object({ q: Type.String({ minLength: 1, maxLength: 200 }) }),
        responses: { 200: SkillList },
      },
      handle: (call) => {
        const wanted = call.query.q.toLowerCase();
        return shown(call.tenant.id, (text) => text.toLowerCase().includes(wanted));
      },
    }),
    route({
      ...common,
      path: '/tools',
      summary: 'List the tools that the tenant may use now',
      schema: { responses: { 200: ToolList } },
      handle: async (call) => {
        const listed = await tools.list(call.tenant.id, call.signal);
        return { tools: listed.map(toTool), count: listed.length };
      },
    }),
  ];
}
