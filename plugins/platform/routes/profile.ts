import { access, type Route, reply, route } from 'agent-gateway';
import { ProfileErrors, type Profiles } from '../../records/contract.ts';
import { MARKDOWN, MarkdownBody, MarkdownText } from './schemas/markdown.ts';
import { userOf } from './user-of.ts';

const common = { access: access.role('user'), path: '/v1/profile', tag: 'memories' } as const;
const MAX_BYTES = 16 * 1024;

/** What the user that `X-Svc-User-Id` names says about himself. */
export function profileRoutes(profiles: Profiles): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      summary: 'Read the profile of a user',
      schema: { responses: { 200: MarkdownText } },
      handle: async (call) => {
        const text = await profiles.read(call.entities(), userOf(call));
        if (text === undefined) throw ProfileErrors.notFound();
        return reply.text(text, MARKDOWN);
      },
    }),
    route({
      ...common,
      method: 'PUT',
      summary: 'Replace the profile of a user; an empty body removes it',
      schema: { body: MarkdownBody, responses: { 204: null } },
      bodyType: 'text',
      bodyLimit: MAX_BYTES,
      handle: async (call) => {
        await profiles.write(call.entities(), userOf(call), call.body);
        return reply.empty();
      },
    }),
  ];
}
