import { column, defineEntity, type Migration, type Page, type TenantEntityManager } from 'agent-gateway';

/** What a user says of an answer. */
export const VERDICTS = ['up', 'down'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One rating of one user: rating the same answer again changes it. `tenantId` makes the rows a tenant's own. */
export const Rating = defineEntity({
  name: 'FeedbackRating',
  tableName: 'feedback_ratings',
  indexes: [{ name: 'feedback_ratings_rated', properties: ['tenantId', 'ratedAt', 'messageId', 'userId'] }],
  properties: {
    tenantId: column.tenant().primary(),
    messageId: column.string(128).primary(),
    userId: column.string(255).primary(),
    verdict: column.string(8).$type<Verdict>(),
    comment: column.string(1000),
    ratedAt: column.time(),
  },
});

/** The table. A released migration never changes: the next wish is `002-…`. */
export const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('feedback_ratings')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('message_id', types.string(128), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('verdict', types.string(8), (is) => is.notNull())
      .addColumn('comment', types.string(1000), (is) => is.notNull())
      .addColumn('rated_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('feedback_ratings_pkey', ['tenant_id', 'message_id', 'user_id']),
    schema.index('feedback_ratings', 'rated', ['tenant_id', 'rated_at', 'message_id', 'user_id']),
  ],
};

/** A rating as the rest of the plugin knows it. */
export interface RatingRecord {
  readonly messageId: string;
  readonly userId: string;
  readonly verdict: Verdict;
  readonly comment: string;
  readonly ratedAt: Date;
}

/**
 * Keeps the rating, in place of the one that the user gave before. One statement: of two at once none is lost or
 * doubled.
 */
export function putRating(entities: TenantEntityManager, rating: RatingRecord): Promise<void> {
  return entities.upsert(Rating, rating, { conflict: ['messageId', 'userId'] });
}

/** A page of the tenant's ratings, newest first, and the number of all. */
export function pageOfRatings(entities: TenantEntityManager, page: Page) {
  return entities.page(
    Rating,
    {},
    { ...page, orderBy: { ratedAt: 'desc', messageId: 'asc', userId: 'asc' } },
  );
}

/** How many ratings of each kind the tenant has. */
export async function countVerdicts(entities: TenantEntityManager): Promise<Record<Verdict, number>> {
  const counts = { up: 0, down: 0 };
  for (const { verdict, count } of await entities.aggregate(Rating, { by: ['verdict'], where: {} }))
    counts[verdict] = count;
  return counts;
}

/** False when the user has not rated this answer. */
export async function deleteRating(
  entities: TenantEntityManager,
  messageId: string,
  userId: string,
): Promise<boolean> {
  return (await entities.delete(Rating, { messageId, userId })) > 0;
}
