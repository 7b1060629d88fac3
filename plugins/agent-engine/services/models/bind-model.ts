import type { Model, ModelClient, ModelInfo } from '../../contract.ts';
import { watchStart } from './watch-start.ts';

/** The model's verbs, asking for the provider's own name and telling that this model answers. */
export function bindModel(info: ModelInfo, client: ModelClient): Model {
  return {
    info,
    async complete(request, context) {
      const completion = await client.complete({ ...request, model: info.model }, context);
      context.answeredBy?.(info);
      return completion;
    },
    stream(request, context) {
      const chunks = client.stream({ ...request, model: info.model }, context);
      const { answeredBy } = context;
      return answeredBy === undefined ? chunks : watchStart(chunks, { begun: () => answeredBy(info) });
    },
  };
}
