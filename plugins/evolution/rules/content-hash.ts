import { createHash } from 'node:crypto';

/** The hash of a gene's content, independent of its owner: the same on all deployments. */
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
