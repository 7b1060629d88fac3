import { access, Id, listOf, pageOf, pageQuery, type Route, reply, route, Timestamp } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { ItemRecord, PascalName } from '../contract.ts';

const MAX_PAGE = 100;
const common = { access: access.role('user'), tag: 'kebab-name' } as const;

const NewItem = Type.Object({
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 2000, examples: ['Sunny'] })),
  //#if kind
  preset: Type.Optional(Type.String({ maxLength: 64 })),
  //#end
});
const ItemView = Type.Object({ id: Id, text: Type.String({ examples: ['Sunny'] }), created_at: Timestamp });
const ItemId = Type.Object({ id: Type.String({ maxLength: 36 }) });

/** The items of the caller's tenant: `read` lists and shows, `write` adds and deletes. */
export function itemRoutes(items: PascalName): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/kebab-name',
      summary: 'Add an item',
      schema: { body: NewItem, responses: { 201: ItemView } },
      handle: async (call) => reply.created(toView(await items.add(call.entities(), call.body))),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/kebab-name',
      summary: 'List the items, newest first',
      schema: { query: pageQuery({ defaultLimit: 20 }), responses: { 200: listOf('items', ItemView) } },
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        const found = await items.list(call.entities(), page);
        return { items: found.items.map(toView), total: found.total, ...page };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/kebab-name/{id}',
      summary: 'Read an item',
      schema: { params: ItemId, responses: { 200: ItemView } },
      handle: async (call) => toView(await items.get(call.entities(), call.params.id)),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/kebab-name/{id}',
      summary: 'Delete an item',
      schema: { params: ItemId, responses: { 204: null } },
      handle: async (call) => {
        await items.remove(call.entities(), call.params.id);
        return reply.empty();
      },
    }),
  ];
}

function toView({ id, text, createdAt }: ItemRecord): Static<typeof ItemView> {
  return { id, text, created_at: createdAt.toISOString() };
}
