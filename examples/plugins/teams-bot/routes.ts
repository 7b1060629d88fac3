import {
  access,
  type Clock,
  isUniqueViolation,
  type Jobs,
  type Route,
  reply,
  route,
  writes,
} from 'agent-gateway';
import Type from 'typebox';
import { Answer } from './bot.ts';
import { Message } from './store.ts';

const HookMessage = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  conversation: Type.String({ minLength: 1, maxLength: 128 }),
  from: Type.String({ minLength: 1, maxLength: 128 }),
  text: Type.String({ minLength: 1, maxLength: 28_000, examples: ['When does the shop open?'] }),
});

/** Where Teams sends messages. Each is stored before it is acknowledged. */
export function hookRoute(jobs: Jobs, clock: Clock, perMinute: number): Route {
  return route({
    method: 'POST',
    path: '/hooks/teams/{hook}',
    access: access.credential('teams_hook'),
    summary: 'Take a message of Teams, to be answered by the callback',
    bodyLimit: 64 * 1024,
    rateLimit: { perMinute, by: ({ identity }) => identity.id },
    schema: {
      params: Type.Object({ hook: Type.String({ maxLength: 63 }) }),
      body: HookMessage,
      responses: { 202: Type.Object({ id: Type.String() }) },
    },
    async handle(call) {
      const { id, conversation, from: userId, text } = call.body;
      const key = { hook: call.params.hook, id };
      const message = {
        ...key,
        conversation,
        userId,
        text,
        state: 'received',
        receivedAt: new Date(clock.now()),
      } as const;
      try {
        await call.entities().writeTogether([writes.insert(Message, [message]), jobs.write(Answer, key)]);
      } catch (error) {
        // Sent again, since the first acknowledgement was lost.
        if (!isUniqueViolation(error)) throw error;
      }
      return reply.json(202, { id });
    },
  });
}
