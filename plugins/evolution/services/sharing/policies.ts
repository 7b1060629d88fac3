import { createSharedCache, type Page, type Scope } from 'agent-gateway';
import {
  effectiveMode,
  SharingChanged,
  type SharingMode,
  type SharingPolicies,
  type TenantSharing,
} from '../../contract.ts';
import { globalVersions, tenantVersions } from '../../store/sharing-versions.ts';
import type { GlobalSharingRow, TenantSharingRow } from '../../store/tables.ts';
import { addVersion, type Change, formerVersion, type Written } from './add-version.ts';

const MAX_AGE_MS = 1000;
const MAX_TENANTS = 10_000;
const GLOBAL = 'global';

/** What a tenant decides. */
export interface TenantChoice {
  readonly consumeShared: boolean;
  readonly contributionMode: SharingMode;
  readonly labels: readonly string[];
}

/** In force for a tenant without a policy of its own: it neither contributes nor consumes. */
export const NOTHING_SHARED: TenantChoice = {
  consumeShared: false,
  contributionMode: 'disabled',
  labels: [],
};

export type Sharing = ReturnType<typeof openSharing>;

/**
 * Opens the sharing policies: for callers that check them on every turn (`policies`, cached for a second), and for
 * administrators, who read and write them.
 */
export function openSharing(scope: Pick<Scope, 'services' | 'on' | 'defer'>) {
  const { clock, database, events, ids, tenants } = scope.services;
  const globals = globalVersions(database);
  const versionsOf = (tenantId: string) => tenantVersions(database.forTenant(tenantId));
  const cached = { clock, maxAge: MAX_AGE_MS };
  const recentGlobal = createSharedCache<{ readonly mode: SharingMode }>({
    ...cached,
    maxEntries: 1,
    load: async () => (await globals.latest()) ?? { mode: 'disabled' },
  });
  const recentTenants = createSharedCache<TenantChoice & { readonly version: number }>({
    ...cached,
    maxEntries: MAX_TENANTS,
    load: async (tenantId) => (await versionsOf(tenantId).latest()) ?? { ...NOTHING_SHARED, version: 0 },
    weigh: ({ labels }) => labels.join().length,
  });
  const forget = (tenantId: string | undefined) =>
    tenantId === undefined ? recentGlobal.clear() : recentTenants.forget(tenantId);
  scope.on(SharingChanged, ({ tenantId }) => forget(tenantId));
  scope.defer(
    events.onMissed(() => {
      recentGlobal.clear();
      recentTenants.clear();
    }),
  );

  /** Publishes the change even after a failure: the write may have happened although its answer was lost. */
  async function changing<T>(tenantId: string | undefined, write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      forget(tenantId);
      events.emit(SharingChanged, tenantId === undefined ? {} : { tenantId });
    }
  }

  const signed = ({ by, reason }: Change) => ({ reason, updatedBy: by, updatedAt: new Date(clock.now()) });

  const policies: SharingPolicies = {
    async of(tenantId) {
      const [{ mode }, choice, tenant] = await Promise.all([
        recentGlobal.get(GLOBAL),
        recentTenants.get(tenantId),
        tenants.get(tenantId),
      ]);
      const isLive = tenant !== undefined && tenant.deletedAt === null;
      return inForce(tenantId, mode, isLive ? choice : { ...NOTHING_SHARED, version: choice.version });
    },
  };

  return {
    policies,
    /** The global policy as it is stored; undefined where none was written. */
    readGlobal: () => globals.latest(),
    globalHistory: (page: Page) => globals.page(page),
    setGlobal: (mode: SharingMode, change: Change): Promise<Written<GlobalSharingRow>> =>
      changing(
        undefined,
        addVersion(globals, change.expects, (version) => ({ version, mode, ...signed(change) })),
      ),
    rollBackGlobal: (wanted: number, change: Change): Promise<Written<GlobalSharingRow>> =>
      changing(
        undefined,
        addVersion(globals, change.expects, async (version) => {
          const { mode } = await formerVersion(globals, wanted, version - 1);
          return { version, mode, ...signed(change) };
        }),
      ),

    readTenant: (tenantId: string) => versionsOf(tenantId).latest(),
    tenantHistory: (tenantId: string, page: Page) => versionsOf(tenantId).page(page),
    /** What is absent stays as it is. */
    setTenant(
      tenantId: string,
      changes: Partial<TenantChoice>,
      change: Change,
    ): Promise<Written<TenantSharingRow>> {
      const make = (version: number, before: TenantSharingRow | undefined) => ({
        ...choiceOf(before ?? NOTHING_SHARED),
        ...changes,
        id: ids.uuid(),
        tenantId,
        version,
        ...signed(change),
      });
      return changing(tenantId, addVersion(versionsOf(tenantId), change.expects, make));
    },
    rollBackTenant(tenantId: string, wanted: number, change: Change): Promise<Written<TenantSharingRow>> {
      const versions = versionsOf(tenantId);
      const make = async (version: number) => ({
        ...choiceOf(await formerVersion(versions, wanted, version - 1)),
        id: ids.uuid(),
        tenantId,
        version,
        ...signed(change),
      });
      return changing(tenantId, addVersion(versions, change.expects, make));
    },
  };
}

function choiceOf({ consumeShared, contributionMode, labels }: TenantChoice): TenantChoice {
  return { consumeShared, contributionMode, labels };
}

/** The policy in force for a tenant's choice under the global mode. Pure. */
function inForce(
  tenantId: string,
  globalMode: SharingMode,
  choice: TenantChoice & { readonly version: number },
): TenantSharing {
  return {
    tenantId,
    globalMode,
    ...choiceOf(choice),
    version: choice.version,
    mayConsume: choice.consumeShared && globalMode !== 'disabled',
    effectiveContributionMode: effectiveMode(globalMode, choice.contributionMode),
  };
}
