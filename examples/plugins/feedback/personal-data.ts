import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { toView } from './routes.ts';
import { Rating } from './store.ts';

/** A rating is its user's: he can have it exported and erased, and so can the tenant with all the others. */
export function personalData(database: Database): PersonalData {
  return {
    name: 'feedback',
    sections: [
      {
        name: 'feedback_ratings',
        entities: [Rating],
        async *read({ tenantId, userId }) {
          const ratings = eachRow(database.forTenant(tenantId), Rating, of(userId), {
            by: ['messageId', 'userId'],
          });
          for await (const rating of ratings) yield toView(rating);
        },
      },
    ],
    erase: async (entities, { userId }) => ({ feedback_ratings: await entities.erase(Rating, of(userId)) }),
  };
}

const of = (userId: string | undefined) => (userId === undefined ? {} : { userId });
