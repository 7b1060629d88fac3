import type { Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../config.ts';
import type { Embeddings, Models } from '../contract.ts';
import { openEmbeddings } from './embeddings/open-embeddings.ts';
import { createCircuits } from './models/circuit.ts';
import { createDemoModel } from './models/demo-model.ts';
import { modelMetrics } from './models/metrics.ts';
import { logShadowedDefault, modelKind } from './models/model-resource.ts';
import { openModels } from './models/open-models.ts';

/** Registers the kind Model and opens the models and embeddings of the deployment; their connections close with the plugin. */
export async function openModelService(
  scope: Scope<AgentEngineSettings>,
): Promise<{ readonly models: Models; readonly embeddings: Embeddings }> {
  const { config: settings, log, services } = scope;
  const { clock, ids, secrets, assertOutsideTransaction } = services;
  const metrics = modelMetrics(scope.metric);
  const parts = {
    settings,
    clock,
    ids,
    log,
    metrics,
    demo: createDemoModel({ clock, ids }),
    circuits: createCircuits({ clock, metrics, log }),
    beforeCall: () => assertOutsideTransaction('a model call'),
  };
  const resolveSecret = (reference: string) => secrets.resolve(reference, 'operator');
  const resources = scope.kind(modelKind({ ...parts, resolveSecret }));
  logShadowedDefault(resources, settings.api_url, log);
  const opened = await openModels({ ...parts, resources });
  scope.defer(opened.close);
  const { embeddings, close } = openEmbeddings(parts);
  scope.defer(close);
  return { models: opened.models, embeddings };
}
