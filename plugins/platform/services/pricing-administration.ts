import { defineErrors, type Identity, isOperator, type Page } from 'agent-gateway';
import type { Prices, PricingRule, PricingRules } from '../../records/contract.ts';

/** What administrators do with pricing rules. They hold for all tenants: everybody reads them, operators write them. */
export interface PricingAdministration {
  list(page: Page): Promise<{ readonly rules: readonly PricingRule[]; readonly total: number }>;
  /** Operators only. Throws what `PricingRules.replace` does. */
  replace(identity: Identity, model: string, prices: Prices): Promise<PricingRule>;
  /** Operators only. Throws what `PricingRules.remove` does. */
  remove(identity: Identity, model: string): Promise<void>;
}

/** What the administration of pricing rules refuses. */
export const PricingAdministrationErrors = defineErrors({
  operatorOnly: {
    code: 'pricing.operator-only',
    kind: 'forbidden',
    title: 'Pricing rules hold for all tenants and are changed by operators only',
  },
});

/** Makes the service. */
export function createPricingAdministration(rules: PricingRules): PricingAdministration {
  return {
    list: (page) => rules.list(page),
    async replace(identity, model, prices) {
      requireOperator(identity);
      return rules.replace(model, prices);
    },
    async remove(identity, model) {
      requireOperator(identity);
      await rules.remove(model);
    },
  };
}

function requireOperator(identity: Identity): void {
  if (!isOperator(identity)) throw PricingAdministrationErrors.operatorOnly();
}
