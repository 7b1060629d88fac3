import type { Logger, ResourceView } from 'agent-gateway';
import type { ModelResource } from './model-resource.ts';

/** Says in the log when a file of agents.d takes the alias `default` from the server in `LLM_API_URL`, and when it gives it back. */
export function tellShadowedDefault(
  resources: ResourceView<ModelResource>,
  apiUrl: string | undefined,
  log: Logger,
): void {
  if (apiUrl === undefined) return;
  let isShadowed = false;
  const look = () => {
    const file = resources.list().find(({ name }) => name === 'default')?.file;
    if ((file !== undefined) === isShadowed) return;
    isShadowed = file !== undefined;
    if (isShadowed) log.info({ file }, 'the model default comes from agents.d, and not from LLM_API_URL');
    else log.info('the model default comes from LLM_API_URL again');
  };
  resources.onChange(look);
}
