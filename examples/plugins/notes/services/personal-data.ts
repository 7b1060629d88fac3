import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { eraseNotes, Note } from '../store/note.ts';

/** What the notes say of people, for export and erasure. A note belongs to the tenant, and to none of its users. */
export function createPersonalData(database: Pick<Database, 'forTenant'>): PersonalData {
  return {
    name: 'notes',
    sections: [
      {
        name: 'notes',
        entities: [Note],
        async *read({ tenantId, userId }) {
          if (userId !== undefined) return;
          const notes = eachRow(database.forTenant(tenantId), Note, {}, { by: ['createdAt', 'id'] });
          for await (const { id, text, createdAt } of notes) yield { id, text, created_at: createdAt };
        },
      },
    ],
    async erase(entities, { userId }) {
      return { notes: userId === undefined ? await eraseNotes(entities) : 0 };
    },
  };
}
