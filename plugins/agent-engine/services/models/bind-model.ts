import type { Model, ModelClient, ModelInfo } from '../../contract.ts';

/** The model's verbs, asking for the provider's own name. */
export function bindModel(info: ModelInfo, client: ModelClient): Model {
  return {
    info,
    complete: (request, context) => client.complete({ ...request, model: info.model }, context),
    stream: (request, context) => client.stream({ ...request, model: info.model }, context),
  };
}
