import { type Clock, DEFAULT_TENANT_ID, type Egress, type Page } from 'agent-gateway';
import { decideConfirmation, decideRegistration, statusOf } from '../rules/registration.ts';
import type { NodeStore } from '../store/nodes.ts';
import type { NodeRow } from '../store/tables.ts';
import { HubErrors } from './errors.ts';

/** Nodes of one hub. */
const MAX_NODES = 10_000;

/** A node as it describes itself. */
export interface NodeClaim {
  readonly id: string;
  readonly endpoint: string;
  readonly publicKey: string;
  readonly capabilities: readonly string[];
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
  async function registerKnown(claim: NodeClaim, isSigned: boolean): Promise<'known' | 'unsigned' | 'gone'> {
    const { id, endpoint, publicKey, capabilities } = claim;
    const decided = await store.change(id, async (node, write) => {
      const decision = decideRegistration(node, { publicKey, endpoint, isSigned });
      if (decision === 'again') await write({ capabilities, lastSeenAt: now() });
      if (decision === 'moved') await write({ endpoint, capabilities, lastSeenAt: now() });
      if (decision === 'rival') await write({ rivalKey: publicKey, rivalEndpoint: endpoint });
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
     * @param proveOwner throws unless the owner of the key has signed this registration; called where the endpoint has
     * changed
     * @throws egress.denied, hub.node-conflict, hub.too-many-nodes
     */
    async register(claim: NodeClaim, proveOwner: () => Promise<void>): Promise<'new' | 'known'> {
      await egress.check(DEFAULT_TENANT_ID, claim.endpoint);
      const { id, endpoint, publicKey, capabilities } = claim;
      if ((await store.find(id)) === undefined) {
        if ((await store.count()) >= MAX_NODES) throw HubErrors.tooManyNodes();
        const times = { registeredAt: now(), lastSeenAt: now() };
        const rival = { rivalKey: null, rivalEndpoint: null };
        // Of several concurrent registrations one inserts the row, and the others continue below with the known node.
        if (await store.insert({ id, endpoint, publicKey, capabilities, ...rival, ...times })) {
          changed();
          return 'new';
        }
      }
      let outcome = await registerKnown(claim, false);
      if (outcome === 'unsigned') {
        await proveOwner();
        outcome = await registerKnown(claim, true);
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

    /** Records the operator's decision about which key is right. @throws hub.node-not-found, hub.third-key */
    async confirm(id: string, publicKey: string): Promise<NodeRow> {
      await store.change(id, async (node, write) => {
        if (node === undefined) throw HubErrors.nodeNotFound();
        const decision = decideConfirmation(node, publicKey);
        if (decision === 'neither') throw HubErrors.thirdKey();
        const settled = { rivalKey: null, rivalEndpoint: null, lastSeenAt: now() };
        if (decision === 'first') await write(settled);
        else await write({ ...settled, publicKey, endpoint: node.rivalEndpoint ?? node.endpoint });
      });
      changed();
      return requireUncontested(id);
    },

    list: (page: Page) => store.page(page),
    status: (node: NodeRow) => statusOf(node, now()),
    requireUncontested,
  };
}
