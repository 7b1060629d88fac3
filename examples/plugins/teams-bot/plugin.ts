import { definePlugin, eraseExpired, field, PersonalDataPoint } from 'agent-gateway';
import { ChatsRef } from 'agent-gateway/contracts/agent-engine';
import Type from 'typebox';
import { Answer, createBot, Deliver } from './bot.ts';
import { hookAuthenticator, hookKind } from './hooks.ts';
import { personalData } from './personal-data.ts';
import { hookRoute } from './routes.ts';
import { initial, Message } from './store.ts';

export default definePlugin({
  name: 'teams-bot',
  summary: 'Answers messages of Teams with an agent',
  version: '0.1.0',
  kernel: '^1.0.0',
  config: Type.Object({
    messages_per_minute: field.integer({
      default: 600,
      min: 1,
      description: 'Messages that one hook may send in a minute',
    }),
    remember: field.duration({
      default: '7d',
      min: '10m',
      description: 'How long a message that was answered is known',
    }),
  }),
  needs: { chats: ChatsRef },
  entities: [Message],
  migrations: [initial],
  jobs: [Answer, Deliver],
  setup(scope, { chats }) {
    const { clock, database, egress, jobs, secrets } = scope.services;
    const hooks = scope.kind(hookKind);
    const bot = createBot({ chats, hooks, jobs, egress });
    scope.authenticate(hookAuthenticator(hooks, secrets, clock));
    scope.route(hookRoute(jobs, clock, scope.config.messages_per_minute));
    scope.worker(Answer, bot.answer);
    scope.worker(Deliver, bot.deliver);
    scope.contribute(PersonalDataPoint, personalData(database));
    scope.every(
      'forget',
      3_600_000,
      (signal) => {
        const before = new Date(clock.now() - scope.config.remember);
        return eraseExpired(database, Message, { state: 'delivered', receivedAt: { $lt: before } }, signal);
      },
      { replicas: 'one' },
    );
  },
});
