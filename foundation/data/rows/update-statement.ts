import type { Conditions } from './conditions.ts';
import type { PlainEntity } from './plain-entity.ts';
import type { PlainValue } from './plain-value.ts';
import type { Statement } from './statement.ts';

/** An `update` of all rows that meet the conditions, or undefined where only MikroORM can write the values. */
export function updateStatement(
  entity: PlainEntity,
  data: Readonly<Record<string, unknown>>,
  where: readonly Conditions[],
): Statement | undefined {
  const changes: { readonly sql: string; readonly value: PlainValue }[] = [];
  for (const name of Object.keys(data)) {
    const column = entity.columns.get(name);
    const value = data[name] === null ? null : column?.toDatabase(data[name]);
    if (column === undefined || value === undefined) return undefined;
    changes.push({ sql: column.sql, value });
  }
  if (changes.length === 0) return undefined;
  return (put) => {
    const sets = changes.map(({ sql, value }) => `${sql} = ${put(value)}`);
    return `update ${entity.table} set ${sets.join(', ')} where ${where.flatMap((of) => of(put)).join(' and ')}`;
  };
}
