import { access, ROLES, type Route, reply, route } from 'agent-gateway';
import { SkillErrors, type Souls } from '../../records/contract.ts';
import { MARKDOWN, MarkdownBody, MarkdownText } from './schemas/markdown.ts';

const MAX_BYTES = 64 * 1024;
const common = { path: '/v1/soul', tag: 'skills' } as const;

/** SOUL.md, the personality that the agents of the caller's tenant share (decisions 1.7). Writing asks for the same as writing a skill. */
export function soulRoutes(souls: Souls): readonly Route[] {
  return [
    route({
      ...common,
      access: access.role('user'),
      method: 'GET',
      summary: 'Read the SOUL.md of your tenant',
      schema: { responses: { 200: MarkdownText } },
      handle: async ({ tenant }) => {
        const text = await souls.read(tenant.id);
        if (text === undefined) throw SkillErrors.soulNotFound();
        return reply.text(text, MARKDOWN);
      },
    }),
    route({
      ...common,
      access: access.role(ROLES, { scopes: ['skills:write'] }),
      method: 'PUT',
      summary: 'Replace the SOUL.md of your tenant',
      schema: { body: MarkdownBody, responses: { 204: null } },
      bodyType: 'text',
      bodyLimit: MAX_BYTES,
      handle: async ({ tenant, body }) => {
        await souls.write(tenant.id, body);
        return reply.empty();
      },
    }),
  ];
}
