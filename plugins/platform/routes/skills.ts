import { access, Id, ROLES, type Route, reply, route, Type, toWire } from 'agent-gateway';
import { SkillErrors, type Skills, type Souls } from '../../records/contract.ts';
import { done, MARKDOWN, MarkdownBody, MarkdownText } from './common.ts';

/** A skill as lists show it (specification 1, Skill summary). */
const SkillSchema = Type.Object({
  name: Type.String({ examples: ['tea'] }),
  description: Type.String({ examples: ['About tea'] }),
  version: Type.String({ examples: ['1.0.0'] }),
  source: Type.Enum(['builtin', 'user'], { examples: ['user'] }),
  user_modified: Type.Boolean({ description: 'True after an upload: synchronization leaves it alone' }),
});

/** The skills of a tenant, all of them. */
const SkillList = Type.Object({
  tenant_id: Id,
  skills: Type.Array(SkillSchema),
  total: Type.Integer(),
});

/** The `{name}` of a path; an invalid name is refused with `skill.invalid-name`. */
const SkillParams = Type.Object({ name: Type.String({ examples: ['tea'] }) });

/** The answer to an upload. */
const Uploaded = Type.Object({ status: Type.Enum(['uploaded']), skill: Type.String({ examples: ['tea'] }) });

const SKILL = {
  examples: ['---\nname: tea\ndescription: About tea\nversion: 1.0.0\n---\nGreen tea is brewed at 80 °C.\n'],
};
const SkillBody = Type.String({ ...MarkdownBody, ...SKILL });
const SkillText = Type.String({ ...MarkdownText, ...SKILL });

const toSkill = toWire(SkillSchema);

const MAX_SKILL_BYTES = 1024 * 1024;
const PATH = '/v1/skills/{name}';
const reads = { access: access.role('user'), tag: 'skills' } as const;
/** A credential of any role may write with this scope; the role `admin` carries it (decisions 1.7). */
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
      answerType: MARKDOWN,
      schema: { params: SkillParams, responses: { 200: SkillText } },
      handle: async ({ tenant, params }) => reply.text(await skills.read(tenant.id, params.name)),
    }),
    route({
      ...writes,
      method: 'PUT',
      path: PATH,
      summary: 'Upload the SKILL.md of a skill, over the one that is there',
      schema: { params: SkillParams, body: SkillBody, responses: { 200: Uploaded } },
      bodyType: 'text',
      bodyLimit: MAX_SKILL_BYTES,
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
      handle: ({ tenant, params }) => done(skills.remove(tenant.id, params.name)),
    }),
  ];
}

const MAX_SOUL_BYTES = 64 * 1024;
const SOUL = { examples: ['Be kind, and brief.'] };
const SoulBody = Type.String({ ...MarkdownBody, ...SOUL });
const SoulText = Type.String({ ...MarkdownText, ...SOUL });
const soul = { path: '/v1/soul', tag: 'skills' } as const;

/**
 * SOUL.md, the personality that the agents of the caller's tenant share (decisions 1.7). Writing asks for the same as
 * writing a skill.
 */
export function soulRoutes(souls: Souls): readonly Route[] {
  return [
    route({
      ...soul,
      access: access.role('user'),
      method: 'GET',
      summary: 'Read the SOUL.md of your tenant',
      answerType: MARKDOWN,
      failures: ['not-found'],
      schema: { responses: { 200: SoulText } },
      handle: async ({ tenant }) => {
        const text = await souls.read(tenant.id);
        if (text === undefined) throw SkillErrors.soulNotFound();
        return reply.text(text);
      },
    }),
    route({
      ...soul,
      access: access.role(ROLES, { scopes: ['skills:write'] }),
      method: 'PUT',
      summary: 'Replace the SOUL.md of your tenant',
      schema: { body: SoulBody, responses: { 204: null } },
      bodyType: 'text',
      bodyLimit: MAX_SOUL_BYTES,
      handle: ({ tenant, body }) => done(souls.write(tenant.id, body)),
    }),
  ];
}
