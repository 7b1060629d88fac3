import { definePlugin } from 'agent-gateway';
import { AgentsRef, AgentTurnsRef, CheckpointsRef, GuardRef } from '../agent-engine/contract.ts';
import { SessionsRef, SkillsRef } from '../records/contract.ts';
import { RuntimeConfig } from './config.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { chatRoutes } from './routes/chat.ts';
import { underV2 } from './routes/paths.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { createChats } from './services/chat/chats.ts';
import { DeliverWebhook } from './services/webhooks/deliveries.ts';
import { openWebhooks } from './services/webhooks/open-webhooks.ts';
import { webhooksMigration } from './store/migrations/020-webhooks.ts';
import { webhookEntities } from './store/webhooks.ts';

export default definePlugin({
  name: 'runtime',
  summary:
    'The v2 API: streaming chat with agents, conversations, files, memory, state, and their administration',
  kernel: '^1.0.0',
  config: RuntimeConfig,
  listen: 'address',
  entities: webhookEntities,
  migrations: [webhooksMigration],
  jobs: [DeliverWebhook],
  needs: {
    agents: AgentsRef,
    turns: AgentTurnsRef,
    checkpoints: CheckpointsRef,
    guard: GuardRef,
    sessions: SessionsRef,
    skills: SkillsRef,
  },
  setup(scope, engine) {
    const chats = createChats({ ...engine, clock: scope.services.clock });
    const { webhooks } = openWebhooks(scope, engine);
    scope.route(...underV2([...catalogRoutes(engine), ...chatRoutes(chats), ...webhookRoutes(webhooks)]));
  },
});
