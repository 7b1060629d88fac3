import { access, ROLES, type Route, reply, route } from 'agent-gateway';
import type { Skills } from '../../records/contract.ts';
import { MARKDOWN, MarkdownBody, MarkdownText } from './schemas/markdown.ts';
import { SkillList, SkillParams, toSkill, Uploaded } from './schemas/skill.ts';

const MAX_BYTES = 1024 * 1024;
const PATH = '/v1/skills/{name}';
const reads = { access: access.role('user'), tag: 'skills' } as const;
/** Whatever its role, a credential may with this scope; the role `admin` carries it (decisions 1.7). */
const writes = { access: access.role(ROLES, { scopes: ['skills:write'] }), tag: 'skills' } as const;

/** The skills of the caller's tenant (specification 1, Skills; decisions 1.7). */
export function skillRoutes(skills: Skills): readonly Route[] {
  return [
    route({
      ...reads,
      method: 'GET',
      path: '/v1/skills',
      summary: 'List the skills of your tenant, by name',
      schema: { responses: { 200: SkillList } },
      handle: async ({ tenant }) => {
        const found = await skills.list(tenant.id);
        return { tenant_id: tenant.id, skills: found.map(toSkill), total: found.length };
      },
    }),
    route({
      ...reads,
      method: 'GET',
      path: PATH,
      summary: 'Read the SKILL.md of a skill',
      schema: { params: SkillParams, responses: { 200: MarkdownText } },
      handle: async ({ tenant, params }) => reply.text(await skills.read(tenant.id, params.name), MARKDOWN),
    }),
    route({
      ...writes,
      method: 'PUT',
      path: PATH,
      summary: 'Upload the SKILL.md of a skill, over the one that is there',
      schema: { params: SkillParams, body: MarkdownBody, responses: { 200: Uploaded } },
      bodyType: 'text',
      bodyLimit: MAX_BYTES,
      handle: async ({ tenant, params, body }) => {
        const { name } = await skills.write(tenant.id, params.name, body);
        return { status: 'uploaded', skill: name };
      },
    }),
    route({
      ...writes,
      method: 'DELETE',
      path: PATH,
      summary: 'Delete a skill; a built-in one does not come back',
      schema: { params: SkillParams, responses: { 204: null } },
      handle: async ({ tenant, params }) => {
        await skills.remove(tenant.id, params.name);
        return reply.empty();
      },
    }),
  ];
}
