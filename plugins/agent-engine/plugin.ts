import { definePlugin } from 'agent-gateway';
import { AgentEngineConfig } from './config.ts';
import { ModelsRef } from './contract.ts';
import { modelMetrics } from './metrics.ts';
import { openModels } from './services/models/open-models.ts';

export default definePlugin({
  name: 'agent-engine',
  summary: 'Models behind one port: OpenAI-compatible servers, and a built-in demo model',
  kernel: '^1.0.0',
  config: AgentEngineConfig,
  offers: [ModelsRef],
  setup(scope) {
    const { clock, ids, assertOutsideTransaction } = scope.services;
    const opened = openModels({
      settings: scope.config,
      clock,
      ids,
      observer: modelMetrics(scope.metric),
      beforeCall: () => assertOutsideTransaction('a model call'),
    });
    scope.defer(opened.close);
    scope.provide(ModelsRef, opened.models);
  },
});
