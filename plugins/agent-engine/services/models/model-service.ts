import type { Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { Embeddings, Models } from '../../contract.ts';
import { modelMetrics } from '../../metrics.ts';
import { openEmbeddings } from '../embeddings/open-embeddings.ts';
import { createCircuits } from './circuit.ts';
import { createDemoModel } from './demo-model.ts';
import { modelKind, tellShadowedDefault } from './model-resource.ts';
import { openModels } from './open-models.ts';

/** Registers the kind Model and opens the models and embeddings of the deployment; their connections close with the plugin. */
export function openModelService(scope: Scope<AgentEngineSettings>): {
  readonly models: Models;
  readonly embeddings: Embeddings;
} {
  const { config: settings, log, services } = scope;
  const { clock, ids, secrets, assertOutsideTransaction } = services;
  const observer = modelMetrics(scope.metric);
  const parts = {
    ...{ settings, clock, ids, observer },
    demo: createDemoModel({ clock, ids }),
    circuits: createCircuits({ clock, observer, log }),
    beforeCall: () => assertOutsideTransaction('a model call'),
  };
  const resolveSecret = (reference: string) => secrets.resolve(reference, 'operator');
  const resources = scope.kind(modelKind({ ...parts, resolveSecret }));
  tellShadowedDefault(resources, settings.api_url, log);
  const opened = openModels({ ...parts, resources });
  scope.defer(opened.close);
  const { embeddings, close } = openEmbeddings(parts);
  scope.defer(close);
  return { models: opened.models, embeddings };
}
