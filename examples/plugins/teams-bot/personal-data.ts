import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { Message } from './store.ts';

/**
 * Messages that wait, or are known for a while so that they are not answered twice. What was said is in the session of
 * the chat.
 */
export function personalData(database: Database): PersonalData {
  return {
    name: 'teams-bot',
    sections: [
      {
        name: 'teams_messages',
        entities: [Message],
        async *read({ tenantId, userId }) {
          const messages = eachRow(database.forTenant(tenantId), Message, of(userId), { by: ['hook', 'id'] });
          for await (const { hook, id, userId: user_id, state, text } of messages)
            yield { hook, id, user_id, state, text };
        },
      },
    ],
    erase: async (entities, { userId }) => ({ teams_messages: await entities.erase(Message, of(userId)) }),
  };
}

const of = (userId: string | undefined) => (userId === undefined ? {} : { userId });
