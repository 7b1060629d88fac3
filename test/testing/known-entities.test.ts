import { defineEntity } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import test, { type ExecutionContext } from 'ava';
import { column } from '../../foundation/data/database.ts';
import { rememberEntities } from '../support/known-entities.ts';

rememberEntities();

/** Entities that no other test has. */
function entitiesOf(prefix: string) {
  const properties = { id: column.id().primary(), text: column.text() };
  const Page = defineEntity({ name: `${prefix}Page`, tableName: `${prefix}_pages`, properties });
  const Mark = defineEntity({ name: `${prefix}Mark`, tableName: `${prefix}_marks`, properties });
  return { Page, Mark };
}

async function open(t: ExecutionContext): Promise<MikroORM> {
  const orm = new MikroORM({
    entities: [],
    discovery: { warnWhenNoEntities: false, checkDuplicateTableNames: false },
    dbName: ':memory:',
  });
  await orm.connect();
  t.teardown(() => orm.close(true));
  return orm;
}

/** Makes entities known to one database after the other, in two steps, until they are remembered; answers the last. */
async function opened(t: ExecutionContext, times: number, { Page, Mark }: ReturnType<typeof entitiesOf>) {
  for (let time = 1; ; time += 1) {
    const orm = await open(t);
    orm.discoverEntity([Page]);
    orm.discoverEntity([Mark]);
    if (time === times) return orm;
  }
}

/** What `opened` needs until both steps are remembered: the second step is the same once the first one is. */
const ENOUGH = 5;

test('databases with entities that are remembered keep rows of their own', async (t) => {
  const entities = entitiesOf('Own');
  const [one, two] = [await opened(t, ENOUGH, entities), await opened(t, 1, entities)];
  for (const { meta } of [entities.Page, entities.Mark])
    t.is(one.getMetadata().get(meta.class), two.getMetadata().get(meta.class));
  for (const [orm, text] of [
    [one, 'of one'],
    [two, 'of two'],
  ] as const) {
    await orm.schema.create();
    const em = orm.em.fork();
    await em.insert(entities.Page, { id: '1', text });
    await em.insert(entities.Mark, { id: '1', text });
  }
  for (const [orm, text] of [
    [one, 'of one'],
    [two, 'of two'],
  ] as const) {
    const em = orm.em.fork();
    for (const entity of [entities.Page, entities.Mark])
      t.deepEqual(
        (await em.find(entity, {})).map((row) => row.text),
        [text],
      );
  }
});

test('entities that go from one database stay known to the others, and another generation may follow', async (t) => {
  const { Page, Mark } = entitiesOf('Gone');
  const other = await opened(t, ENOUGH, { Page, Mark });
  const orm = await opened(t, 1, { Page, Mark });
  const properties = { id: column.id().primary(), text: column.text(), size: column.integer().default(3) };
  const Next = defineEntity({ name: 'GonePage', tableName: 'Gone_pages', properties });
  orm.discoverEntity([Next], [Page.meta.class]);
  await orm.schema.create();
  await orm.em.fork().insert(Next, { id: '1', text: 'new' });
  t.is((await orm.em.fork().findOneOrFail(Next, { id: '1' })).size, 3);
  t.false(orm.getMetadata().has(Page.meta.class));

  t.deepEqual(
    other
      .getMetadata()
      .get(Page.meta.class)
      .props.map(({ name }) => name),
    ['id', 'text'],
  );
  await other.schema.create();
  await other.em.fork().insert(Page, { id: '1', text: 'old' });
  t.is((await other.em.fork().findOneOrFail(Page, { id: '1' })).text, 'old');
});

test('entities that come once or twice are looked at as they are', async (t) => {
  const { Page, Mark } = entitiesOf('Few');
  const [first, second] = [await opened(t, 1, { Page, Mark }), await opened(t, 1, { Page, Mark })];
  t.not(first.getMetadata().get(Page.meta.class), second.getMetadata().get(Page.meta.class));
});
