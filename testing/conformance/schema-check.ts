import { withGateway } from './gateway-of.ts';
import type { Subject } from './subject.ts';

/** The tables that the migrations made are those that the entities describe. */
export async function schemaCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async ({ gateway }) => {
    const drift = await gateway.services.database.schemaDrift();
    const statements = drift.split('\n').map((line) => line.trim());
    return statements
      .filter((line) => line !== '')
      .map((line) => `entities and migrations differ; this would make them equal: ${line}`);
  });
}
