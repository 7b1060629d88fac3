import { DEFAULT_TENANT_ID, definePlugin, PersonalDataPoint } from 'agent-gateway';
import {
  EmbeddingsPoint,
  MemoriesRef,
  MeteringRef,
  PreamblesRef,
  PricingRulesRef,
  ProfilesRef,
  ProvisioningRef,
  ReceiptsRef,
  SessionDataPoint,
  SessionsRef,
  SkillsRef,
  SoulsRef,
  TurnsRef,
  UsageReportsRef,
} from './contract.ts';
import { createPersonalData } from './services/data-protection/personal-data.ts';
import { openMetering } from './services/metering/metering.ts';
import { createUsageReports } from './services/metering/usage-reports.ts';
import { openTenantContext } from './services/open-tenant-context.ts';
import { createReceipts } from './services/receipts.ts';
import { createSessions } from './services/sessions/sessions.ts';
import { createTurns } from './services/sessions/turns.ts';
import { BUILTIN_FOLDER, readCatalog } from './services/skills/skill-text.ts';
import { ForgetSkills } from './services/skills/tenant-objects.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations.ts';

export default definePlugin({
  name: 'records',
  summary: 'What is kept about the work of agents: sessions, receipts, usage, prices, memories and skills',
  kernel: '^1.0.0',
  entities,
  migrations,
  jobs: [ForgetSkills],
  points: [EmbeddingsPoint, SessionDataPoint],
  offers: [
    SessionsRef,
    TurnsRef,
    ReceiptsRef,
    MeteringRef,
    UsageReportsRef,
    PricingRulesRef,
    MemoriesRef,
    ProfilesRef,
    SkillsRef,
    SoulsRef,
    PreamblesRef,
    ProvisioningRef,
  ],
  async setup(scope) {
    const { clock, ids, database, leases } = scope.services;
    const { metering, pricing } = openMetering(scope);
    const catalog = await readCatalog(BUILTIN_FOLDER);
    const context = openTenantContext(scope, catalog);

    scope.provide(SessionsRef, createSessions({ leases, data: scope.contributions(SessionDataPoint) }));
    scope.provide(TurnsRef, createTurns({ database, leases, metering, clock, ids }));
    scope.provide(ReceiptsRef, createReceipts({ clock, ids }));
    scope.provide(MeteringRef, metering);
    scope.provide(UsageReportsRef, createUsageReports({ database }));
    scope.provide(PricingRulesRef, pricing);
    scope.provide(MemoriesRef, context.memories);
    scope.provide(ProfilesRef, context.profiles);
    scope.provide(SkillsRef, context.skills);
    scope.provide(SoulsRef, context.souls);
    scope.provide(PreamblesRef, context.preambles);
    scope.provide(ProvisioningRef, context.provisioning);
    scope.contribute(PersonalDataPoint, createPersonalData({ ...scope.services, ...context }));
    await context.provisioning.kick(DEFAULT_TENANT_ID);
  },
});
