import { access } from '../../kernel/api/access.ts';
import { definePlugin, type Plugin, type PluginDefinition } from '../../kernel/api/plugin.ts';
import { type Route, route } from '../../kernel/api/route.ts';

/** A plugin of a test: what is not said is as small as possible. */
export function testPlugin(name: string, parts: Partial<Omit<PluginDefinition, 'name'>> = {}): Plugin {
  return definePlugin({ summary: `test plugin ${name}`, kernel: '^1.0.0', setup: () => {}, ...parts, name });
}

/** A public GET route that answers with what `handle` returns. */
export function publicRoute(path: string, handle: Route['handle']): Route {
  return route({
    method: 'GET',
    path,
    access: access.public(),
    summary: `test route ${path}`,
    rateLimit: 'none',
    handle,
  });
}

/** A promise that a test resolves when it is time. */
export function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}
