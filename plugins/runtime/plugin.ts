import { definePlugin } from 'agent-gateway';
import { AgentsRef, AgentTurnsRef, CheckpointsRef } from '../agent-engine/contract.ts';
import { SessionsRef, SkillsRef } from '../records/contract.ts';
import { RuntimeConfig } from './config.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { chatRoutes } from './routes/chat.ts';
import { underV2 } from './routes/paths.ts';
import { createChats } from './services/chat/chats.ts';

export default definePlugin({
  name: 'runtime',
  summary:
    'The v2 API: streaming chat with agents, conversations, files, memory, state, and their administration',
  kernel: '^1.0.0',
  config: RuntimeConfig,
  listen: 'address',
  needs: {
    agents: AgentsRef,
    turns: AgentTurnsRef,
    checkpoints: CheckpointsRef,
    sessions: SessionsRef,
    skills: SkillsRef,
  },
  setup(scope, engine) {
    const chats = createChats({ ...engine, clock: scope.services.clock });
    scope.route(...underV2([...catalogRoutes(engine), ...chatRoutes(chats)]));
  },
});
