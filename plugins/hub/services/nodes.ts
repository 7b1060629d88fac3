import { type Clock, DEFAULT_TENANT_ID, type Egress, type Page } from 'agent-gateway';
import { decideConfirmation, decideRegistration, ownerAfter, statusOf } from '../rules/registration.ts';
import type { NodeStore } from '../store/nodes.ts';
import type { NodeRow } from '../store/tables.ts';
import { HubErrors } from './errors.ts';

/** Nodes of one owner, and of the hub. */
const MAX_OF_OWNER = 1_000;
const MAX = 10_000;

const NO_RIVAL = { rivalKey: null, rivalEndpoint: null, rivalOwner: null };

/** A node as it describes itself. */
export interface NodeClaim {
  readonly id: string;
  readonly endpoint: string;
  readonly publicKey: string;
  readonly capabilities: readonly string[];
}

/** Who registers a node. */
export interface Registrant {
  readonly owner: string;
  /** Whether the request carries a signature. */
  readonly hasSignature: boolean;
  /** Throws unless the key of the node has signed the request. */
  readonly prove: () => Promise<void>;
}

/** The registry of nodes (decisions 3.6). */
export function createNodes(parts: {
  readonly store: NodeStore;
  readonly egress: Pick<Egress, 'check'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Notifies the dashboard of a change. */
  readonly changed: () => void;
}) {
  const { store, egress, clock, changed } = parts;
  const now = () => new Date(clock.now());

  /** @throws hub.node-not-found, hub.node-conflict */
  async function requireUncontested(id: string): Promise<NodeRow> {
    const node = await store.find(id);
    if (node === undefined) throw HubErrors.nodeNotFound();
    if (node.rivalKey !== null) throw HubErrors.nodeConflict();
    return node;
  }

  /** Registers a node whose id is known. */
  async function registerKnown(
    claim: NodeClaim,
    { owner: by, hasSignature }: Registrant,
    isSigned: boolean,
  ): Promise<'known' | 'unsigned' | 'gone'> {
    const { id, endpoint, publicKey, capabilities } = claim;
    const decided = await store.change(id, async (node, write) => {
      const decision = decideRegistration(node, { publicKey, endpoint, hasSignature, isSigned });
      const owner = ownerAfter(node?.owner ?? null, by, isSigned);
      const rival = { rivalKey: publicKey, rivalEndpoint: endpoint, rivalOwner: by };
      if (decision === 'again' || decision === 'moved')
        await write({ endpoint, capabilities, owner, lastSeenAt: now() });
      if (decision === 'rival') await write(rival);
      return decision;
    });
    changed();
    if (decided === 'rival' || decided === 'flagged') throw HubErrors.nodeConflict();
    if (decided === 'new') return 'gone';
    return decided === 'unsigned' ? 'unsigned' : 'known';
  }

  return {
    /**
     * Registers a node, or notes that a known one was seen. A known id keeps its key: a different key flags both, and
     * neither counts until an operator has decided.
     *
     * @param by is asked to prove the key where the endpoint has changed, or the node gets its owner
     * @throws egress.denied, hub.node-conflict, hub.too-many-nodes
     */
    async register(claim: NodeClaim, by: Registrant): Promise<'new' | 'known'> {
      await egress.check(DEFAULT_TENANT_ID, claim.endpoint);
      const { id, endpoint, publicKey, capabilities } = claim;
      if ((await store.find(id)) === undefined) {
        const node = { id, endpoint, publicKey, capabilities, owner: by.owner, ...NO_RIVAL };
        const times = { registeredAt: now(), lastSeenAt: now() };
        // Of several concurrent registrations one adds the row, and the others continue below with the known node.
        const added = await store.add({ ...node, ...times }, { ofOwner: MAX_OF_OWNER, all: MAX });
        if (added === 'owner') throw HubErrors.tooManyNodes(`An owner has ${MAX_OF_OWNER} of them at most`);
        if (added === 'all') throw HubErrors.tooManyNodes();
        if (added === 'added') {
          changed();
          return 'new';
        }
      }
      let outcome = await registerKnown(claim, by, false);
      if (outcome === 'unsigned') {
        await by.prove();
        outcome = await registerKnown(claim, by, true);
      }
      if (outcome === 'gone') throw HubErrors.nodeNotFound();
      return 'known';
    },

    /** @throws hub.node-not-found, hub.node-conflict */
    async heartbeat(id: string): Promise<void> {
      await requireUncontested(id);
      await store.seen(id, now());
    },

    /**
     * Removes a node: at its own request, or, contested or not, at an operator's. @throws hub.node-not-found,
     * hub.node-conflict
     */
    async remove(id: string, by: 'node' | 'operator'): Promise<void> {
      if (by === 'node') await requireUncontested(id);
      else if ((await store.find(id)) === undefined) throw HubErrors.nodeNotFound();
      await store.remove(id);
      changed();
    },

    /**
     * Records the operator's decision about which key is right. The node is then of whoever registered that key, also
     * above the limit.
     *
     * @throws hub.node-not-found, hub.third-key
     */
    async confirm(id: string, publicKey: string): Promise<NodeRow> {
      await store.change(id, async (node, write) => {
        if (node === undefined) throw HubErrors.nodeNotFound();
        const decision = decideConfirmation(node, publicKey);
        if (decision === 'neither') throw HubErrors.thirdKey();
        const settled = { ...NO_RIVAL, lastSeenAt: now() };
        const { rivalEndpoint, rivalOwner: owner } = node;
        if (decision === 'first') await write(settled);
        else await write({ ...settled, publicKey, endpoint: rivalEndpoint ?? node.endpoint, owner });
      });
      changed();
      return requireUncontested(id);
    },

    list: (page: Page) => store.page(page),
    status: (node: NodeRow) => statusOf(node, now()),
    requireUncontested,
  };
}
