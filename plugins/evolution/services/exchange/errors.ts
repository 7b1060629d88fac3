import { defineErrors } from 'agent-gateway';

/** The errors of the exchange between deployments. */
export const ExchangeErrors = defineErrors({
  hubFailed: {
    code: 'evolution.hub-failed',
    kind: 'upstream',
    title: 'The experience hub did not answer as it should',
  },
});
