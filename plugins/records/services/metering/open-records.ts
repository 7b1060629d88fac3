import type { Scope } from 'agent-gateway';
import {
  type Metering,
  PricingChanged,
  type PricingRules,
  type Receipts,
  type SandboxPolicies,
  SandboxPolicyChanged,
  type UsageReports,
} from '../../../agent-engine/contract.ts';
import { createSandboxPolicies } from '../../../agent-engine/services/policies/sandbox-policies.ts';
import { createReceipts } from '../receipts/receipts.ts';
import { createMetering } from './metering.ts';
import { createPricing } from './pricing.ts';
import { createUsageReports } from './usage-reports.ts';

/** What is kept about work, and the rules for it. */
export interface Records {
  readonly receipts: Receipts;
  readonly metering: Metering;
  readonly reports: UsageReports;
  readonly pricing: PricingRules;
  readonly policies: SandboxPolicies;
}

/** Opens the records; what they remember of rules is dropped when another replica changes one. */
export function openRecords(scope: Pick<Scope, 'services' | 'on' | 'defer'>): Records {
  const { clock, ids, database, events } = scope.services;
  const pricing = createPricing({ database, clock, events });
  const policies = createSandboxPolicies({ database, clock, events });
  scope.on(PricingChanged, () => pricing.forget());
  scope.on(SandboxPolicyChanged, ({ tenantId }) => policies.forget(tenantId));
  scope.defer(
    events.onMissed(() => {
      pricing.forget();
      policies.forgetAll();
    }),
  );
  return {
    receipts: createReceipts({ clock, ids }),
    metering: createMetering({ pricing, clock, ids }),
    reports: createUsageReports({ database }),
    pricing,
    policies,
  };
}
