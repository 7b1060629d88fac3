import { access, Id, listOf, pageOf, pageQuery, type Route, reply, route, Timestamp } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { NoteRecord, Notes } from '../contract.ts';

const MAX_PAGE = 100;
const common = { access: access.role('user'), tag: 'notes' } as const;

const NoteBody = Type.Object({
  text: Type.String({ minLength: 1, maxLength: 2000, examples: ['Buy milk'] }),
});
const NoteView = Type.Object({
  id: Id,
  text: Type.String({ examples: ['Buy milk'] }),
  created_at: Timestamp,
});

/** The notes of the caller's tenant: `read` lists, `write` keeps and deletes. */
export function noteRoutes(notes: Notes): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/notes',
      summary: 'Keep a note',
      schema: { body: NoteBody, responses: { 201: NoteView } },
      handle: async (call) => reply.created(toView(await notes.keep(call.entities(), call.body.text))),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/notes',
      summary: 'List the notes, newest first',
      schema: { query: pageQuery({ defaultLimit: 20 }), responses: { 200: listOf('notes', NoteView) } },
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        const found = await notes.list(call.entities(), page);
        return { notes: found.notes.map(toView), total: found.total, ...page };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/notes/{id}',
      summary: 'Delete a note',
      schema: { params: Type.Object({ id: Type.String({ maxLength: 36 }) }), responses: { 204: null } },
      handle: async (call) => {
        await notes.remove(call.entities(), call.params.id);
        return reply.empty();
      },
    }),
  ];
}

function toView({ id, text, createdAt }: NoteRecord): Static<typeof NoteView> {
  return { id, text, created_at: createdAt.toISOString() };
}
