import type { Scope } from 'agent-gateway';
import {
  type Embeddings,
  type Guard,
  type Memories,
  MemoriesChanged,
  type Preambles,
  type Profiles,
  type Provisioning,
  SkillProvisioning,
  type Skills,
  SkillsChanged,
  type Souls,
  type ToolSource,
} from '../../contract.ts';
import { createMemories } from '../memories/memories.ts';
import { memoryTools } from '../memories/memory-tools.ts';
import { createProfiles } from '../memories/profiles.ts';
import { createManifests } from '../skills/manifests.ts';
import { createProvisioning } from '../skills/provisioning.ts';
import type { SkillCatalog } from '../skills/skill-catalog.ts';
import { skillSource, skillTools } from '../skills/skill-tools.ts';
import { createSkills } from '../skills/skills.ts';
import { createSouls } from '../skills/souls.ts';
import { createPreambles } from './preambles.ts';

const SWEEP_MS = 30_000;
/** Tenants that one replica looks after at one time on request, beside its sweep. */
const KICKED_AT_ONCE = 2;

/** What a chat of a tenant's user knows beforehand, and what keeps it. */
export interface TenantContext {
  readonly memories: Memories;
  readonly profiles: Profiles;
  readonly skills: Skills;
  readonly souls: Souls;
  readonly preambles: Preambles;
  readonly provisioning: Provisioning;
  /** Memory tools, and, with object storage, `load_skill`. */
  readonly builtinTools: ToolSource;
  /** `skill://<name>`; nothing without object storage. */
  readonly skillTools: ToolSource;
}

/** Puts memories, skills and preambles together, and keeps their caches and the provisioning going as long as the plugin lives. */
export function openTenantContext(
  scope: Pick<Scope, 'services' | 'log' | 'metric' | 'on' | 'onHint' | 'every' | 'defer'>,
  parts: {
    readonly embeddings: Embeddings;
    readonly catalog: SkillCatalog;
    readonly guard: Pick<Guard, 'redact'>;
  },
): TenantContext {
  const { embeddings, catalog, guard } = parts;
  const { services, log } = scope;
  const { clock, database, events, objects } = services;
  const memories = createMemories({ ...services, embeddings, log });
  const profiles = createProfiles(services);
  const manifests = createManifests({ ...services, catalog, log });
  const skills = createSkills({ manifests, objects, catalog, log });
  const souls = createSouls(services);
  const defaultSoul = catalog.soul;
  const preambles = createPreambles({
    defaultSoul,
    souls,
    skills,
    memories,
    profiles,
    objects,
    database,
    clock,
    log,
  });
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
  scope.every('skill-provisioning', SWEEP_MS, provisioning.sweep);

  const hasSkills = objects.available;
  const tools = [...memoryTools({ memories, database, guard }), ...(hasSkills ? skillTools({ skills }) : [])];
  return {
    ...{ memories, profiles, skills, souls, preambles, provisioning },
    builtinTools: { prefix: 'builtin/', list: () => tools },
    skillTools: hasSkills ? skillSource({ skills }) : { prefix: 'skill://', list: () => [] },
  };
}
