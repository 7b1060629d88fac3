import test from 'ava';
import { access } from '../../../../kernel/api/access.ts';
import { routeScopes } from '../../../../plugins/platform/services/route-scopes.ts';

test('the scopes of all described routes are known, each once', (t) => {
  const document = {
    openapi: '3.0.3' as const,
    info: { title: 'test', version: '1' },
    paths: {
      '/a': {
        get: { 'x-access': access.governance(['weather:read', 'ops:read']) },
        post: { 'x-access': access.role('user', { scopes: ['weather:write'] }) },
      },
      '/b': { get: { 'x-access': access.public() }, post: { 'x-access': access.governance(['ops:read']) } },
    },
  };
  t.deepEqual([...routeScopes(document)], ['weather:read', 'ops:read', 'weather:write']);
});
