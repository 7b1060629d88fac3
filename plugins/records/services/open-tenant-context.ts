import { type Scope, StoredObjectsPoint } from 'agent-gateway';
import { EmbeddingsPoint, MemoriesChanged, SkillProvisioning, SkillsChanged } from '../contract.ts';
import { createMemories, createProfiles } from './memories/memories.ts';
import { createPreambles } from './preamble/preambles.ts';
import { createManifests } from './skills/manifests.ts';
import { createProvisioning } from './skills/provisioning.ts';
import type { SkillCatalog } from './skills/skill-text.ts';
import { createSkills, createSouls } from './skills/skills.ts';
import { ForgetSkills, forgetSkills, skillReferences } from './skills/tenant-objects.ts';

const SWEEP_MS = 30_000;
/** Tenants that one replica provisions at one time on request, in parallel with its sweep. */
const KICKED_AT_ONCE = 2;

/**
 * Puts memories, skills and preambles together, and keeps their caches and the provisioning going as long as the plugin
 * lives.
 */
export function openTenantContext(
  scope: Pick<
    Scope,
    | 'services'
    | 'log'
    | 'metric'
    | 'contributions'
    | 'contribute'
    | 'on'
    | 'onHint'
    | 'worker'
    | 'every'
    | 'defer'
  >,
  catalog: SkillCatalog,
) {
  const { services, log } = scope;
  const { clock, database, events, objects } = services;
  const contributed = scope.contributions(EmbeddingsPoint);
  const embeddings = () => contributed().at(-1);
  const memories = createMemories({ ...services, embeddings, log });
  const profiles = createProfiles(services);
  const manifests = createManifests({ ...services, catalog, log });
  const skills = createSkills({ manifests, objects, catalog, log });
  const souls = createSouls(services);
  const kept = { souls, skills, memories, profiles };
  const preambles = createPreambles({ ...kept, defaultSoul: catalog.soul, objects, database, clock, log });
  const runs = scope.metric.counter({
    name: 'svc_skill_provisionings_total',
    help: 'Tenants that were looked after to bring them the built-in skills, by result.',
    labels: ['result'],
  });
  const onDone = (result: 'ok' | 'failed') => runs.inc({ result });
  const provisioning = createProvisioning({ ...services, catalog, manifests, log, onDone });

  scope.on(SkillsChanged, ({ tenant_id: tenantId }) => {
    manifests.forget(tenantId);
    souls.forget(tenantId);
    preambles.forgetTenant(tenantId);
  });
  scope.on(MemoriesChanged, (changed) => preambles.forgetUser(changed.tenant_id, changed.user_id));
  scope.defer(
    events.onMissed(() => {
      manifests.clear();
      souls.clear();
      preambles.clear();
    }),
  );
  scope.onHint(
    SkillProvisioning,
    ({ tenant_id: tenantId }, { signal }) => provisioning.provision(tenantId, signal),
    { concurrency: KICKED_AT_ONCE },
  );
  scope.every('skill-provisioning', SWEEP_MS, provisioning.sweep, { replicas: 'one' });

  scope.worker(ForgetSkills, forgetSkills({ manifests, souls, provisioning }));
  scope.contribute(StoredObjectsPoint, skillReferences(manifests));

  return { memories, profiles, skills, souls, preambles, provisioning };
}
