import { createHash } from 'node:crypto';

/** What a gene says, apart from whose it is: the same on all deployments. */
export function contentHashOf(gene: {
  readonly taskClass: string;
  readonly component: string;
  readonly type: string;
}): string {
  const { taskClass, component, type } = gene;
  return createHash('sha256')
    .update(JSON.stringify([taskClass, component, type]))
    .digest('hex');
}
