import { DEFAULT_TENANT_ID, definePlugin, PersonalDataPoint, RetentionPoint } from 'agent-gateway';
import { RecordsConfig } from './config.ts';
import {
  EmbeddingsPoint,
  MemoriesRef,
  MeteringRef,
  PreamblesRef,
  PricingRulesRef,
  ProfilesRef,
  ProvisioningRef,
  ReceiptsRef,
  RetentionRef,
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
import { createUsageRollup } from './services/metering/usage-rollup.ts';
import { openTenantContext } from './services/open-tenant-context.ts';
import { createReceipts } from './services/receipts.ts';
import { openRetention } from './services/retention/open-retention.ts';
import { recordKinds } from './services/retention/record-kinds.ts';
import { createSessions } from './services/sessions/sessions.ts';
import { createTurns } from './services/sessions/turns.ts';
import { builtinCatalog } from './services/skills/skill-text.ts';
import { ForgetSkills } from './services/skills/tenant-objects.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations.ts';

/** Milliseconds between two searches for days that are over, and for erased usage. */
const ROLLUP_EVERY_MS = 60_000;

export default definePlugin({
  name: 'records',
  summary: 'What is kept about the work of agents: sessions, receipts, usage, prices, memories and skills',
  kernel: '^1.0.0',
  entities,
  migrations,
  jobs: [ForgetSkills],
  config: RecordsConfig,
  points: [EmbeddingsPoint, SessionDataPoint, RetentionPoint],
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
    RetentionRef,
  ],
  async setup(scope) {
    const { clock, ids, database, leases, durableEvents } = scope.services;
    const { metering, pricing } = openMetering(scope);
    const context = openTenantContext(scope, builtinCatalog());
    const data = scope.contributions(SessionDataPoint);

    scope.provide(SessionsRef, createSessions({ leases, data, durableEvents }));
    scope.provide(TurnsRef, createTurns({ database, leases, metering, durableEvents, clock, ids }));
    scope.provide(ReceiptsRef, createReceipts({ clock, ids }));
    scope.provide(MeteringRef, metering);
    scope.provide(UsageReportsRef, createUsageReports({ database }));
    scope.every('usage-rollup', ROLLUP_EVERY_MS, createUsageRollup({ database, leases, clock, ids }).run, {
      immediately: true,
    });
    scope.provide(PricingRulesRef, pricing);
    scope.provide(MemoriesRef, context.memories);
    scope.provide(ProfilesRef, context.profiles);
    scope.provide(SkillsRef, context.skills);
    scope.provide(SoulsRef, context.souls);
    scope.provide(PreamblesRef, context.preambles);
    scope.provide(ProvisioningRef, context.provisioning);
    scope.provide(RetentionRef, openRetention(scope));
    for (const kind of recordKinds({ database, leases, data, durableEvents }))
      scope.contribute(RetentionPoint, kind);
    scope.contribute(
      PersonalDataPoint,
      createPersonalData({ ...scope.services, ...context, sessionData: data }),
    );
    await context.provisioning.kick(DEFAULT_TENANT_ID);
  },
});
