import { access, type Route, reply, route } from 'agent-gateway';
import { type Gate, HUB_LIMIT, operable } from './callers.ts';
import * as schemas from './schemas.ts';

const KEYS = '/api/v1/keys';
const tag = 'hub-keys';

/** The public keys of the hub. They are no secret: verifiers of its signatures need them. */
export function keyRoutes({ load }: Gate): readonly Route[] {
  const published = async () => ({
    keys: (await (await load()).keys.published()).map(({ id, publicKey, retiresAt }) => ({
      key_id: id,
      public_key: publicKey,
      retires_at: retiresAt?.toISOString() ?? null,
    })),
  });
  return [
    route({
      access: access.public(),
      method: 'GET',
      path: KEYS,
      tag,
      rateLimit: HUB_LIMIT,
      summary: 'List the public keys of the hub, the one in use first',
      schema: { responses: { 200: schemas.PublishedKeys } },
      handle: published,
    }),
    route({
      ...operable,
      method: 'POST',
      path: `${KEYS}/rotate`,
      tag,
      summary: 'Put another key in use; for operators',
      description:
        'The one before stays published, and signs for those who subscribed under it, for HUB_KEY_OVERLAP.',
      schema: { responses: { 201: schemas.PublishedKeys } },
      handle: async (call) => {
        const { id } = await (await load()).keys.rotate();
        call.audit({ changes: { key_id: id } });
        return reply.created(await published());
      },
    }),
  ];
}
