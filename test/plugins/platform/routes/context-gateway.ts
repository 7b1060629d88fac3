import { definePlugin } from '../../../../kernel/index.ts';
import { memoryRoutes, profileRoutes } from '../../../../plugins/platform/routes/memories.ts';
import { skillRoutes, soulRoutes } from '../../../../plugins/platform/routes/skills.ts';
import { EmbeddingsPoint } from '../../../../plugins/records/contract.ts';
import { openTenantContext } from '../../../../plugins/records/services/open-tenant-context.ts';
import { BUILTIN_FOLDER, readCatalog } from '../../../../plugins/records/services/skills/skill-text.ts';
import { entities } from '../../../../plugins/records/store/entities.ts';
import { migrations } from '../../../../plugins/records/store/migrations.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../../testing/index.ts';
import type { TestRequest } from '../../../../testing/start-test-gateway.ts';
import type { Lifetime } from '../../../support/shared.ts';
import { testEmbeddings } from '../../records/services/memories/kit.ts';

/** A gateway with only the routes of memories, profiles, skills and SOUL.md; stopped with the test, or the file. */
export async function startContextGateway(t: Lifetime, options: Omit<TestGatewayOptions, 'plugins'> = {}) {
  let context: ReturnType<typeof openTenantContext> | undefined;
  const plugin = definePlugin({
    name: 'records',
    summary: 'Memories and skills without the rest',
    kernel: '^1.0.0',
    entities,
    migrations,
    points: [EmbeddingsPoint],
    async setup(scope) {
      const catalog = readCatalog(BUILTIN_FOLDER);
      context = openTenantContext(scope, catalog);
      scope.contribute(EmbeddingsPoint, testEmbeddings());
      const { memories, profiles, skills, souls } = context;
      scope.route(...memoryRoutes(memories), ...profileRoutes(profiles));
      scope.route(...skillRoutes(skills), ...soulRoutes(souls));
    },
  });
  const gateway = await startTestGateway({ ...options, plugins: [plugin] });
  t.teardown(gateway.stop);
  return { ...bound(gateway), context: context! };
}

function bound(gateway: TestGateway) {
  const { request, makeTenant } = gateway;
  const { apiKeys } = gateway.gateway.services;
  return {
    gateway,
    request,
    makeTenant,
    /** A new tenant, and requests that are its own unless they say otherwise. */
    tenant: async () => {
      const { id, token } = await makeTenant();
      const own = (path: string, more: TestRequest = {}) => request(path, { token, ...more });
      return { id, request: own };
    },
    /** A raw key of a tenant with these roles and scopes. */
    key: async (tenantId: string, roles: readonly string[], scopes: readonly string[] = []) => {
      const wanted = { tenantId, name: 'test', roles: [...roles], scopes: [...scopes] };
      return (await apiKeys.create({ ...wanted, expiresAt: null, createdBy: null })).key;
    },
  };
}
