import { defineErrors } from 'agent-gateway';

/** The errors of genes. */
export const GeneErrors = defineErrors({
  notFound: { code: 'evolution.gene-not-found', kind: 'not-found', title: 'There is no such gene' },
  revoked: {
    code: 'evolution.gene-revoked',
    kind: 'conflict',
    title: 'The gene was revoked, for good',
  },
});
