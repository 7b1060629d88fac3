import { definePlugin } from 'agent-gateway';
import { AgentsRef } from '../agent-engine/contract.ts';
import { SkillsRef } from '../records/contract.ts';
import { RuntimeConfig } from './config.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { underV2 } from './routes/paths.ts';

export default definePlugin({
  name: 'runtime',
  summary:
    'The v2 API: streaming chat with agents, conversations, files, memory, state, and their administration',
  kernel: '^1.0.0',
  config: RuntimeConfig,
  listen: 'address',
  needs: { agents: AgentsRef, skills: SkillsRef },
  setup(scope, { agents, skills }) {
    scope.route(...underV2(catalogRoutes({ agents, skills })));
  },
});
