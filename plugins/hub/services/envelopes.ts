import type { Clock, GatewayError } from 'agent-gateway';
import {
  CLOCK_SKEW_S,
  type EnvelopeProblem,
  envelopeProblem,
  readEnvelope,
  type SignedRequest,
  spentOf,
} from '../rules/envelope.ts';
import { publicKeyOf } from '../rules/public-key.ts';
import type { NodeStore } from '../store/nodes.ts';
import { HubErrors } from './errors.ts';

/** The signer of a request. */
export interface Signer {
  readonly id: string;
  /** A node of this hub, or a hub in which this gateway is a node (this one included). */
  readonly kind: 'node' | 'hub';
}

type Header = (name: string) => string | undefined;

export type Envelopes = ReturnType<typeof createEnvelopes>;

const PROBLEMS: Readonly<Record<EnvelopeProblem, () => GatewayError>> = {
  incomplete: () => HubErrors.envelopeIncomplete(),
  signature: () => HubErrors.signatureInvalid(),
  clock: () => HubErrors.clockSkewed(`Its time may differ by ${CLOCK_SKEW_S} seconds`),
};

/** Checks envelopes. */
export function createEnvelopes(parts: {
  readonly nodes: Pick<NodeStore, 'find' | 'spend'>;
  /** The public key (base64) of a hub, by its id. */
  readonly hubKey: (id: string) => Promise<string | undefined>;
  readonly clock: Pick<Clock, 'now'>;
}) {
  const { nodes, hubKey, clock } = parts;

  async function check(
    request: SignedRequest,
    header: Header,
    keyOf: (signer: string) => Promise<{ readonly key: string; readonly kind: Signer['kind'] }>,
  ): Promise<Signer> {
    const envelope = readEnvelope(header);
    if (typeof envelope === 'string') throw PROBLEMS[envelope]();
    const { key, kind } = await keyOf(envelope.signer);
    const now = clock.now();
    const problem = envelopeProblem(envelope, request, publicKeyOf(key), now);
    if (problem !== undefined) throw PROBLEMS[problem]();
    // Only envelopes of known signers are stored, so that no stranger can fill the table. The timestamp may be ahead:
    // after twice the skew it is refused anyway.
    const until = new Date(now + (2 * CLOCK_SKEW_S + 1) * 1000);
    if (!(await nodes.spend(spentOf(envelope, request, key), until))) throw HubErrors.replayed();
    return { id: envelope.signer, kind };
  }

  return {
    /**
     * The signer of a request, verified on the received bytes. An envelope is accepted once, across all replicas and
     * restarts.
     *
     * @throws hub.envelope-incomplete, hub.signature-invalid, hub.clock-skewed, hub.replayed; hub.signer-unknown
     */
    verify: (request: SignedRequest, header: Header) =>
      check(request, header, async (signer) => {
        const node = await nodes.find(signer);
        if (node !== undefined) return { key: node.publicKey, kind: 'node' };
        const ofHub = await hubKey(signer);
        if (ofHub !== undefined) return { key: ofHub, kind: 'hub' };
        throw HubErrors.signerUnknown();
      }),

    /** The same against the key of a node as it is being registered. */
    async holdsUnder(publicKey: string, nodeId: string, request: SignedRequest, header: Header) {
      await check(request, header, async (signer) => {
        if (signer !== nodeId) throw HubErrors.foreignNode();
        return { key: publicKey, kind: 'node' };
      });
    },
  };
}
