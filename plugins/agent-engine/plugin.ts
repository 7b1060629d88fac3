import { definePlugin } from 'agent-gateway';
import { AgentEngineConfig } from './config.ts';
import { ModelsRef } from './contract.ts';
import { modelMetrics } from './metrics.ts';
import { createDemoModel } from './services/models/demo-model.ts';
import { modelKind } from './services/models/model-resource.ts';
import { openModels } from './services/models/open-models.ts';
import { tellShadowedDefault } from './services/models/shadowed-default.ts';

export default definePlugin({
  name: 'agent-engine',
  summary: 'Models behind one port: OpenAI-compatible servers, and a built-in demo model',
  kernel: '^1.0.0',
  config: AgentEngineConfig,
  offers: [ModelsRef],
  setup(scope) {
    const { clock, ids, secrets, assertOutsideTransaction } = scope.services;
    const common = {
      settings: scope.config,
      demo: createDemoModel({ clock, ids }),
      clock,
      ids,
      observer: modelMetrics(scope.metric),
      beforeCall: () => assertOutsideTransaction('a model call'),
    };
    const resolveSecret = (reference: string) => secrets.resolve(reference, 'operator');
    const resources = scope.kind(modelKind({ ...common, resolveSecret }));
    tellShadowedDefault(resources, scope.config.api_url, scope.log);
    const opened = openModels({ ...common, resources });
    scope.defer(opened.close);
    scope.provide(ModelsRef, opened.models);
  },
});
