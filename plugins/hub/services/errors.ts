import { defineErrors } from 'agent-gateway';

/** The errors of the hub. */
export const HubErrors = defineErrors({
  envelopeIncomplete: {
    code: 'hub.envelope-incomplete',
    kind: 'unauthenticated',
    title: 'The request is not signed, or its envelope is not complete',
  },
  signatureInvalid: {
    code: 'hub.signature-invalid',
    kind: 'unauthenticated',
    title: 'The signature does not hold for this request',
  },
  clockSkewed: {
    code: 'hub.clock-skewed',
    kind: 'unauthenticated',
    title: 'The signature is from another time',
  },
  replayed: { code: 'hub.replayed', kind: 'unauthenticated', title: 'The envelope was used before' },
  signerUnknown: {
    code: 'hub.signer-unknown',
    kind: 'unauthenticated',
    title: 'The signer is not known here',
  },
  keyRequired: {
    code: 'hub.key-required',
    kind: 'forbidden',
    title: 'This needs a key of the hub',
  },
  foreignNode: { code: 'hub.foreign-node', kind: 'forbidden', title: 'A node speaks for itself alone' },
  foreignContributor: {
    code: 'hub.foreign-contributor',
    kind: 'forbidden',
    title: 'A node names itself as the contributor of its genes, or no contributor',
  },
  nodeNotFound: { code: 'hub.node-not-found', kind: 'not-found', title: 'There is no such node' },
  nodeConflict: {
    code: 'hub.node-conflict',
    kind: 'conflict',
    title: 'Two keys want this node: an operator has to say which one is right',
  },
  thirdKey: {
    code: 'hub.third-key',
    kind: 'conflict',
    title: 'The key is none of those that want this node',
  },
  tooManyNodes: { code: 'hub.too-many-nodes', kind: 'conflict', title: 'The hub has too many nodes' },
  geneRevoked: { code: 'hub.gene-revoked', kind: 'conflict', title: 'The gene was revoked, for good' },
  tooManyGenes: {
    code: 'hub.too-many-genes',
    kind: 'conflict',
    title: 'The node has reported too many genes',
  },
  subscriptionNotFound: {
    code: 'hub.subscription-not-found',
    kind: 'not-found',
    title: 'There is no such subscription',
  },
  tooManySubscriptions: {
    code: 'hub.too-many-subscriptions',
    kind: 'conflict',
    title: 'There are too many subscriptions',
  },
  deadLetterNotFound: {
    code: 'hub.dead-letter-not-found',
    kind: 'not-found',
    title: 'There is no such dead letter',
  },
  busy: { code: 'hub.busy', kind: 'unavailable', title: 'Too many searches are under way' },
});
