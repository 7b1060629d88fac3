import test from 'ava';
import { type FusedStatement, ServerPlans } from '../../../../foundation/data/drivers/server-plans.ts';

/** `insert into t values ($1)`, with its value. */
function insert(value: number, table = 't'): FusedStatement {
  return {
    toText: () => `insert into ${table} values (${value})`,
    toPlannable: () => ({ text: `insert into ${table} values ($1)`, args: [String(value)] }),
  };
}

const always: FusedStatement = { toText: () => 'select 1', toPlannable: () => undefined };

/** Plans, and what of a message is said without the names that are new with each connection. */
function bench() {
  let now = 0;
  const plans = new ServerPlans(() => now);
  const compose = (...statements: FusedStatement[]) => {
    const composed = plans.compose(statements);
    return { ...composed, text: composed.text.replaceAll(/gateway_[0-9a-f]{8}_/g, 'p') };
  };
  /** Sends a statement so often that it has a plan. */
  const plan = (statement: FusedStatement) => {
    for (let use = 0; use < 3; use += 1) compose(statement);
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { plans, compose, plan, pass };
}

test('a statement that comes often is planned once', (t) => {
  const { compose } = bench();
  t.is(compose(insert(1), always).text, 'insert into t values (1); select 1');
  t.is(compose(insert(2)).text, 'insert into t values (2)');
  t.is(compose(insert(3)).text, 'prepare p1 as insert into t values ($1); execute p1(3)');
  t.is(compose(insert(4), always).text, 'execute p1(4); select 1');
});

test('within a message the first one plans for those that follow', (t) => {
  const { compose } = bench();
  t.is(
    compose(insert(1), insert(2), insert(3), insert(4)).text,
    'insert into t values (1); insert into t values (2); prepare p1 as insert into t values ($1); execute p1(3); execute p1(4)',
  );
});

test('a statement without parameters has a plan too, one with very many has none', (t) => {
  const { compose, plan } = bench();
  const bare = { toText: () => 'select 1', toPlannable: () => ({ text: 'select 1', args: [] }) };
  plan(bare);
  t.is(compose(bare).text, 'execute p1');
  const args = Array.from({ length: 101 }, () => '1');
  const wide = { toText: () => 'wide', toPlannable: () => ({ text: 'wide $1 …', args }) };
  plan(wide);
  t.is(compose(wide).text, 'wide');
});

test('a plan grows old: it is taken back and made again', (t) => {
  const { compose, plan, pass } = bench();
  plan(insert(1));
  pass(10_000);
  t.is(compose(insert(2)).text, 'execute p1(2)');
  pass(1);
  t.is(compose(insert(3)).text, 'prepare p2 as insert into t values ($1); execute p2(3)');
  t.is(compose(insert(4)).text, 'deallocate p1; execute p2(4)');
  t.is(compose(insert(5)).text, 'execute p2(5)');
});

test('what is kept is bounded: the plan that was not used for longest goes', (t) => {
  const { compose, plan } = bench();
  for (let n = 0; n < 64; n += 1) plan(insert(n, `t${n}`));
  compose(insert(1, 't0'));
  plan(insert(1, 'new'));
  t.is(compose(insert(1, 't0'), insert(2, 't2')).text, 'execute p1(1); execute p3(2)');
  t.is(compose(insert(1, 't1')).text, 'insert into t1 values (1)');
});

test('a plan that goes is taken back on the server', (t) => {
  const { compose, plan } = bench();
  for (let n = 0; n < 64; n += 1) plan(insert(n, `t${n}`));
  compose(insert(1, 'new'));
  t.is(compose(always).text, 'deallocate p1; select 1');
});

test('after a message that failed its new plans are in doubt, and made anew; old ones stay', (t) => {
  const { compose, plan } = bench();
  plan(insert(1, 'old'));
  compose(insert(1));
  compose(insert(2));
  const { text, failed } = compose(insert(1, 'old'), insert(3));
  t.is(text, 'execute p1(1); prepare p2 as insert into t values ($1); execute p2(3)');
  t.false(failed(Object.assign(new Error('division by zero'), { code: '22012' })));
  t.is(compose(insert(1, 'old'), insert(4)).text, 'execute p1(1); insert into t values (4)');
  compose(insert(5));
  t.is(compose(insert(6)).text, 'prepare p3 as insert into t values ($1); execute p3(6)');
});

test('plans in doubt do not pile up on the server', (t) => {
  const { compose } = bench();
  for (let n = 0; n < 51; n += 1) {
    compose(insert(1), insert(2));
    compose(insert(3)).failed(new Error('no'));
  }
  t.is(compose(insert(1)).text, 'deallocate all; insert into t values (1)');
  t.is(compose(insert(1)).text, 'insert into t values (1)');
});

test('where the server does not have them any more, there are no more plans', (t) => {
  const { compose, plan } = bench();
  plan(insert(1));
  const { failed } = compose(insert(2));
  t.true(failed(Object.assign(new Error('gone'), { code: '26000' })));
  for (let n = 0; n < 5; n += 1) t.is(compose(insert(n)).text, `insert into t values (${n})`);
});

test('two connections never use one name', (t) => {
  const names = new Set<string>();
  for (let n = 0; n < 50; n += 1) {
    const plans = new ServerPlans();
    for (let use = 0; use < 3; use += 1) names.add(plans.compose([insert(1)]).text);
  }
  t.is(names.size, 51, 'one text without a plan, and 50 with');
});
