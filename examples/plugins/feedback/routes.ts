import {
  access,
  type Call,
  type Clock,
  defineErrors,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
} from 'agent-gateway';
import Type, { type Static } from 'typebox';
import {
  countVerdicts,
  deleteRating,
  pageOfRatings,
  putRating,
  type RatingRecord,
  VERDICTS,
} from './store.ts';

export const FeedbackErrors = defineErrors({
  notFound: { code: 'feedback.not-found', kind: 'not-found', title: 'There is no such rating of yours' },
});

const READ = { access: access.role('user', { scopes: ['feedback:read'] }) };
const WRITE = { access: access.role('user', { scopes: ['feedback:write'] }) };
const MAX_PAGE = 100;

const params = Type.Object({ message_id: Type.String({ minLength: 1, maxLength: 128 }) });
const opinion = {
  verdict: Type.Enum([...VERDICTS]),
  comment: Type.String({ maxLength: 1000, default: '', examples: ['Short and right.'] }),
};
const RatingBody = Type.Object(opinion, { required: ['verdict'] });
const RatingView = Type.Object({
  message_id: Type.String(),
  user_id: Type.String(),
  ...opinion,
  rated_at: Timestamp,
});

/** The ratings of the caller's tenant. */
export function feedbackRoutes(clock: Clock): readonly Route[] {
  return [
    route({
      ...WRITE,
      method: 'PUT',
      path: '/v1/feedback/{message_id}',
      summary: 'Rate an answer, or rate it anew',
      schema: { params, body: RatingBody, responses: { 200: RatingView } },
      async handle(call) {
        const rating = {
          messageId: call.params.message_id,
          userId: userOf(call),
          verdict: call.body.verdict,
          comment: call.body.comment,
          ratedAt: new Date(clock.now()),
        };
        await putRating(call.entities(), rating);
        return toView(rating);
      },
    }),
    route({
      ...WRITE,
      method: 'DELETE',
      path: '/v1/feedback/{message_id}',
      summary: 'Take a rating back',
      schema: { params, responses: { 204: null } },
      async handle(call) {
        if (!(await deleteRating(call.entities(), call.params.message_id, userOf(call))))
          throw FeedbackErrors.notFound();
        return reply.empty();
      },
    }),
    route({
      ...READ,
      method: 'GET',
      path: '/v1/feedback',
      summary: 'List the ratings of all users, newest first',
      schema: { query: pageQuery({ defaultLimit: 20 }), responses: { 200: listOf('ratings', RatingView) } },
      async handle(call) {
        const page = pageOf(call.query, MAX_PAGE);
        const [ratings, total] = await pageOfRatings(call.entities(), page);
        return { ratings: ratings.map(toView), total, ...page };
      },
    }),
    route({
      ...READ,
      method: 'GET',
      path: '/v1/feedback-summary',
      summary: 'Count the ratings',
      schema: { responses: { 200: Type.Object({ up: Type.Integer(), down: Type.Integer() }) } },
      handle: (call) => countVerdicts(call.entities()),
    }),
  ];
}

/** Whose rating it is: the user that an application speaks for, or else the holder of the credential. */
function userOf({ userId, identity }: Call): string {
  return userId ?? identity.id;
}

/** A rating as clients see it. */
export function toView({
  messageId,
  userId,
  verdict,
  comment,
  ratedAt,
}: RatingRecord): Static<typeof RatingView> {
  return { message_id: messageId, user_id: userId, verdict, comment, rated_at: ratedAt.toISOString() };
}
